
type sample = { reward : Z.t; reward_den : Z.t; forward : (Z.t * Z.t) list;
                backward : (Z.t * Z.t) list }

type head = { z_low : Z.t; z_high : Z.t; z_den : Z.t; scale : Z.t;
              level_num : Z.t; level_den : Z.t; tv_low : Z.t; tv_high : 
              Z.t; tv_den : Z.t; count : Z.t; weights : Z.t; won_low : 
              Z.t; won_high : Z.t }

(** val grain : Z.t **)

let grain =
  (fun p -> p) ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    Z.one))))))))))))))))))))))))))))))))))))))))

(** val five : Z.t **)

let five =
  (fun p -> p) ((fun p -> Z.succ (Z.shift_left p 1))
    ((fun p -> Z.shift_left p 1) Z.one))

(** val small : Z.t **)

let small =
  (fun p -> p) ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) Z.one)))

(** val large : Z.t **)

let large =
  (fun p -> p) ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.succ (Z.shift_left p 1)) ((fun p -> Z.shift_left p 1)
    Z.one))))))

(** val from : Z.t -> Z.t list -> Z.t list **)

let rec from k factors =
  k :: (match factors with
        | [] -> []
        | f :: factors' ->
          from
            ((fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
              (Z.mul k f) five) factors')

(** val bets : Z.t list **)

let bets =
  from ((fun p -> p) ((fun p -> Z.succ (Z.shift_left p 1))
    ((fun p -> Z.succ (Z.shift_left p 1)) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.succ (Z.shift_left p 1))
    ((fun p -> Z.succ (Z.shift_left p 1)) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.succ (Z.shift_left p 1)) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.succ (Z.shift_left p 1))
    ((fun p -> Z.succ (Z.shift_left p 1)) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.succ (Z.shift_left p 1))
    ((fun p -> Z.succ (Z.shift_left p 1)) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.succ (Z.shift_left p 1)) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.succ (Z.shift_left p 1))
    ((fun p -> Z.succ (Z.shift_left p 1))
    ((fun p -> Z.succ (Z.shift_left p 1))
    ((fun p -> Z.succ (Z.shift_left p 1)) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.succ (Z.shift_left p 1)) Z.one))))))))))))))))))))))))))))
    (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (small :: (large :: (large :: (large :: (large :: (large :: (large :: []))))))))))))))))))))))))))))))))))))

(** val total : Z.t list -> Z.t **)

let rec total = function
| [] -> Z.zero
| c :: capital' -> Z.add c (total capital')

(** val each : Z.t -> Z.t list -> Z.t list **)

let rec each x = function
| [] -> []
| _ :: l' -> x :: (each x l')

(** val settle : head -> Z.t -> Z.t -> Z.t list -> Z.t list -> Z.t list **)

let rec settle h m y bets0 capital =
  match bets0 with
  | [] -> []
  | k :: bets' ->
    (match capital with
     | [] -> []
     | c :: capital' ->
       ((fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
         (Z.mul c (Z.mul (Z.add (Z.mul grain h.scale) (Z.mul k y)) h.tv_den))
         (Z.mul h.scale (Z.add (Z.mul grain h.tv_den) (Z.mul k m)))) :: 
         (settle h m y bets' capital'))

(** val along : (Z.t * Z.t) list -> Z.t -> Z.t -> (Z.t * Z.t) option **)

let rec along steps a b =
  match steps with
  | [] -> Some (a, b)
  | p :: steps' ->
    let (n, d) = p in
    if Z.leq Z.zero n
    then if Z.leq n d
         then if Z.lt Z.zero d
              then along steps' (Z.mul a n) (Z.mul b d)
              else None
         else None
    else None

(** val weight : sample -> (Z.t * Z.t) option **)

let weight s =
  if Z.leq Z.zero s.reward
  then if Z.lt Z.zero s.reward_den
       then (match along s.backward s.reward s.reward_den with
             | Some p ->
               let (a, b) = p in
               (match along s.forward ((fun p -> p) Z.one) ((fun p -> p)
                        Z.one) with
                | Some p0 ->
                  let (c, d) = p0 in
                  if Z.lt Z.zero c
                  then Some ((Z.mul a d), (Z.mul b c))
                  else None
                | None -> None)
             | None -> None)
       else None
  else None

type state = { seen : Z.t; sum : Z.t; low : Z.t list; high : Z.t list }

(** val start : head -> state option **)

let start h =
  if Z.leq Z.zero h.z_low
  then if Z.lt Z.zero h.z_high
       then if Z.lt Z.zero h.z_den
            then if Z.lt Z.zero h.scale
                 then if Z.lt Z.zero h.level_num
                      then if Z.lt Z.zero h.level_den
                           then if Z.leq Z.zero h.tv_low
                                then if Z.leq h.tv_low h.tv_high
                                     then if Z.leq h.tv_high h.tv_den
                                          then if Z.lt Z.zero h.tv_den
                                               then let capital =
                                                      each
                                                        ((fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
                                                          (Z.mul h.scale
                                                            h.level_num)
                                                          (Z.mul
                                                            ((fun p -> p)
                                                            ((fun p -> Z.shift_left p 1)
                                                            Z.one))
                                                            h.level_den)) bets
                                                    in
                                                    Some { seen = Z.zero;
                                                    sum = Z.zero; low =
                                                    capital; high = capital }
                                               else None
                                          else None
                                     else None
                                else None
                           else None
                      else None
                 else None
            else None
       else None
  else None

(** val step : head -> state -> sample -> state option **)

let step h s drawn =
  match weight drawn with
  | Some p ->
    let (a, b) = p in
    let a' = Z.mul a h.z_den in
    let lack = Z.sub (Z.mul b h.z_low) a' in
    let most = Z.mul b h.z_high in
    let w =
      (fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
        (Z.mul h.scale a') most
    in
    let y =
      if Z.lt Z.zero lack
      then (fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
             (Z.mul h.scale lack) (Z.mul b h.z_low)
      else Z.zero
    in
    let y' = if Z.lt a' most then w else h.scale in
    Some { seen = (Z.add s.seen ((fun p -> p) Z.one)); sum = (Z.add s.sum w);
    low = (settle h h.tv_low y bets s.low); high =
    (settle h (Z.sub h.tv_den h.tv_high) y' bets s.high) }
  | None -> None

(** val wins : head -> Z.t -> Z.t -> bool **)

let wins h m won =
  if Z.equal m Z.zero then true else Z.leq (total (each h.scale bets)) won

(** val finish : head -> state -> bool **)

let finish h s =
  if Z.equal s.seen h.count
  then if Z.equal s.sum h.weights
       then if Z.equal (total s.low) h.won_low
            then if Z.equal (total s.high) h.won_high
                 then if wins h h.tv_low h.won_low
                      then wins h (Z.sub h.tv_den h.tv_high) h.won_high
                      else false
                 else false
            else false
       else false
  else false
