"""DAGs, laws and policies to look at: answers about a problem, pictures, networkx."""
