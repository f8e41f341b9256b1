/** Copies a text. Pages that come by plain HTTP have no clipboard, so a hidden field is the second way. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
