package meaning

import ("testing";"os";"bufio";"fmt")

func TestZZ(t *testing.T) {
	f, err := os.Open("/tmp/mt/q.txt"); if err != nil { t.Skip() }
	sc := bufio.NewScanner(f)
	for sc.Scan() { fmt.Printf("%-70s => %s\n", sc.Text(), Of(sc.Text()).Key()) }
}
