# event 1
begin: BEGIN
look: SELECT ':no', code FROM items WHERE id IN (1549, 4, 4) -- :no
look: SELECT ':no', code FROM items WHERE id IN (1549, 5, 5) -- :no
note: UPDATE items SET note = NULL WHERE id = 1549
commit: COMMIT
# event 2
begin: BEGIN
look: SELECT ':no', code FROM items WHERE id IN (1499, 7, 7) -- :no
look: SELECT ':no', code FROM items WHERE id IN (1499, 8, 8) -- :no
note: UPDATE items SET note = 5 WHERE id = 1499
commit: COMMIT
# event 3
number: INSERT INTO items VALUES (1000001, 2, 'x')
# event 4
begin: BEGIN
look: SELECT ':no', code FROM items WHERE id IN (320, 8, 8) -- :no
look: SELECT ':no', code FROM items WHERE id IN (320, 10, 10) -- :no
note: UPDATE items SET note = 'a' WHERE id = 320
commit: COMMIT
# event 5
begin: BEGIN
look: SELECT ':no', code FROM items WHERE id IN (1171, 10, 10) -- :no
look: SELECT ':no', code FROM items WHERE id IN (1171, 8, 8) -- :no
note: UPDATE items SET note = NULL WHERE id = 1171
commit: COMMIT
# event 6
begin: BEGIN
look: SELECT ':no', code FROM items WHERE id IN (1138, 10, 10) -- :no
look: SELECT ':no', code FROM items WHERE id IN (1138, 3, 3) -- :no
note: UPDATE items SET note = NULL WHERE id = 1138
commit: COMMIT
# event 7
number: INSERT INTO items VALUES (1000005, 2, 'x')
# event 8
begin: BEGIN
look: SELECT ':no', code FROM items WHERE id IN (1023, 6, 6) -- :no
look: SELECT ':no', code FROM items WHERE id IN (1023, 1, 1) -- :no
note: UPDATE items SET note = NULL WHERE id = 1023
commit: COMMIT
