package sqlite

import "syscall"

// kindOf returns the number of the file system that a folder is on. Where that cannot be told, what follows tells what is wrong.
func kindOf(folder string) uint32 {
	var fs syscall.Statfs_t
	if syscall.Statfs(folder, &fs) != nil {
		return 0
	}
	return uint32(fs.Type) //nolint:gosec // the numbers have 32 bits, whatever the type's sign
}
