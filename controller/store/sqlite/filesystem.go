package sqlite

import "fmt"

// remote names a file system of other machines by its number in Linux's linux/magic.h; "" for any other. FUSE may be anything, so it passes.
func remote(kind uint32) string {
	switch kind {
	case 0x6969:
		return "NFS"
	case 0x517B, 0xFE534D42:
		return "SMB"
	case 0xFF534D42:
		return "CIFS"
	case 0x5346414F, 0x6B414653:
		return "AFS"
	case 0x00C36400:
		return "Ceph"
	case 0x73757245:
		return "Coda"
	}
	return ""
}

// checkLocal refuses a folder of another machine: the index of the log is memory that all who open the file share, which does not reach
// across machines, and neither does the lock everywhere. kindOf returns the number of a folder's file system, 0 where it is not known.
func checkLocal(folder string, kindOf func(folder string) uint32) error {
	if name := remote(kindOf(folder)); name != "" {
		return fmt.Errorf("%s is on a network file system (%s), where two machines could write to it at once: "+
			"name a local file with --store, or an etcd cluster for several machines", folder, name)
	}
	return nil
}
