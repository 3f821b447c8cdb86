const maxNameBytes = 100

const extensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'application/pdf': 'pdf',
  'application/json': 'json',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'text/html': 'html',
}

/**
 * Returns a name for the file that is safe in a folder and in a shell command: its last component without control and
 * special characters, at most 100 bytes, never hidden, and never an option.
 */
export function fileNameOf(given: string | undefined, mediaType: string): string {
  const last = (given ?? '').toWellFormed().normalize('NFC').split(/[\\/]/).at(-1) ?? ''
  const plain = last
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .replaceAll(/[^\p{L}\p{M}\p{N}._ ()+@-]/gu, '_')
    .replace(/^[-.\s]+/, '')
    .trimEnd()
  return plain === '' ? `file.${extensions[mediaType] ?? 'bin'}` : shortened(plain)
}

/** Shortens a name, but not its extension. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? ''
  let stem = ''
  for (const character of name.slice(0, name.length - extension.length)) {
    if (Buffer.byteLength(stem) + Buffer.byteLength(character) + extension.length > maxNameBytes) break
    stem += character
  }
  return `${stem}${extension}`
}
