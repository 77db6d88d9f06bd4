// Package localserver runs a throwaway MySQL-compatible server for a cell that
// names no target.
//
// The server is a mysqld or mariadbd found on this machine ([Find]), started on
// an empty data directory of its own in a temporary folder, reachable by a Unix
// socket and by a free port of 127.0.0.1, with one account whose password is
// drawn at random ([Start]). It never reads an option file and never touches a
// server, a service or data that was there before.
//
// # How it ends
//
// The server must not outlive the process that started it, however that process
// ends. Three things see to it, each covering what the one before cannot:
//
//  1. [Server.Stop]: SIGTERM, SIGKILL after a while, and the folder is removed.
//  2. A panic, os.Exit or SIGKILL of the process closes a pipe on which a small
//     /bin/sh is waiting; it kills the server and removes the folder. On Linux
//     the kernel kills the server too (PR_SET_PDEATHSIG).
//  3. When even that failed, the next Start finds the folder: its owner file is
//     no longer locked. It kills the server it belongs to and removes the folder.
package localserver
