// How many files of a dropped folder are taken, so that a mistake such as a home folder ends.
const most = 20_000;

/** Returns the dropped files, and those in dropped folders. Hidden files and folders are left out. */
export async function filesOf(data: DataTransfer): Promise<File[]> {
  // The entries must be taken before the first wait: afterwards the browser has emptied the list.
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.()).filter((e) => e !== null && e !== undefined);
  if (!entries.length) return [...data.files];
  const out: File[] = [];
  for (const e of entries) await collect(e, out);
  return out;
}

async function collect(entry: FileSystemEntry, out: File[]): Promise<void> {
  if (out.length >= most || entry.name.startsWith(".")) return;
  if (entry.isFile) {
    out.push(await new Promise<File>((done, fail) => (entry as FileSystemFileEntry).file(done, fail)));
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail)); // at most 100 at a time
    if (!some.length) return;
    for (const e of some) await collect(e, out);
  }
}
