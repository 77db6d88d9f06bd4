# event 1
random_points: SELECT id, k, c, pad FROM sbtest1 WHERE k IN (30, 127, 206, 20, 104, 84, 158, 147, 181, 221)
# event 2
random_points: SELECT id, k, c, pad FROM sbtest1 WHERE k IN (71, 19, 78, 242, 181, 173, 89, 199, 62, 74)
# event 3
random_points: SELECT id, k, c, pad FROM sbtest1 WHERE k IN (72, 130, 148, 108, 221, 247, 20, 170, 94, 8)
