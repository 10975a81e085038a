package sqlite

import (
	"strings"
	"testing"
)

func TestAFolderOfAnotherMachineIsRefused(t *testing.T) {
	for name, kind := range map[string]uint32{"NFS": 0x6969, "CIFS": 0xFF534D42, "SMB": 0xFE534D42, "Ceph": 0x00C36400} {
		err := checkLocal("/folder", func(string) uint32 { return kind })
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--store") {
			t.Errorf("%s: want it refused with a way out, got %v", name, err)
		}
	}
	for name, kind := range map[string]uint32{"ext4": 0xEF53, "XFS": 0x58465342, "tmpfs": 0x01021994, "overlay": 0x794C7630, "FUSE": 0x65735546, "unknown": 0} {
		if err := checkLocal("/folder", func(string) uint32 { return kind }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := checkLocal(t.TempDir(), kindOf); err != nil {
		t.Errorf("a folder for tests: %v", err)
	}
}
