/** Returns names in which a number tells the second and further ones of the same name apart. Buttons that a screen reader reads need different names. */
export function distinct(names: string[]): string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const n = (seen.get(name) ?? 0) + 1;
    seen.set(name, n);
    return n > 1 ? `${name} (${n})` : name;
  });
}
