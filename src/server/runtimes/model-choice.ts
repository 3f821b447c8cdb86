/** The name that leaves the choice of the model to the runtime. */
export const anyModel = 'default'

const anyNames: ReadonlySet<string> = new Set(['', anyModel, 'auto'])

/** True when the name asks for one model; false when it leaves the choice to the runtime. */
export const isModelNamed = (model: string): boolean => !anyNames.has(model.toLowerCase())

const shown = 10

/** Why a prompt with a model that the runtime does not have is refused. `ids` are those that it has. */
export function unknownModel(model: string, ids: readonly string[]): string {
  if (ids.length === 0) return `model ${JSON.stringify(model)} is not known to the runtime, which lists no models`
  const more = ids.length > shown ? ` and ${ids.length - shown} more` : ''
  const known = `${ids.slice(0, shown).join(', ')}${more}`
  return `model ${JSON.stringify(model)} is not known to the runtime; it has ${known}; name one of them, or "${anyModel}"`
}
