/** Columns beside each other. */
export const maxColumns = 3

/** Reads the models of the columns: names separated by commas. Without any there is one column without a model. */
export function readModels(text: string | undefined): readonly string[] {
  const names = (text ?? '').split(',').map(decoded).slice(0, maxColumns)
  return names.length === 0 ? [''] : names
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Writes the models of the columns; undefined when there is nothing to keep. */
export function writeModels(models: readonly string[]): string | undefined {
  const text = models.map(name => name.replace(/[%,]/g, encodeURIComponent)).join(',')
  return text === '' ? undefined : text
}
