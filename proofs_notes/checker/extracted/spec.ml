
type node = Z.t

type row =
| Terminal of Z.t
| Inner of Z.t * (node * Z.t) list

type relation =
| Equal
| AtMost
| AtLeast

type arithmetic =
| Exact
| Rounded of Z.t

type head = { size : Z.t; arith : arithmetic; reward_sum : Z.t;
              reward_den : Z.t; claim : relation; tv_num : Z.t; tv_den : 
              Z.t }
