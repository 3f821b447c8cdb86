const maxLength = 200

/**
 * Names for the documents of one request: Converse takes letters, digits, single blanks, hyphens and brackets, and no
 * name twice. Equal requests give equal names.
 */
export function createDocumentNames(): (title: string) => string {
  const taken = new Set<string>()
  return title => {
    const base = allowed(title)
    let name = base
    for (let number = 2; taken.has(name); number++) name = numbered(base, number)
    taken.add(name)
    return name
  }
}

function allowed(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .replaceAll(/[^a-zA-Z0-9()[\] -]+/g, ' ')
    .replaceAll(/ +/g, ' ')
    .slice(0, maxLength)
    .trim()
  return plain === '' ? 'document' : plain
}

function numbered(base: string, number: number): string {
  const suffix = ` (${number})`
  return `${base.slice(0, maxLength - suffix.length).trimEnd()}${suffix}`
}
