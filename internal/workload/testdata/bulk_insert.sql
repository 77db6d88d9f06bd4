# event 1
# event 2
# event 3
