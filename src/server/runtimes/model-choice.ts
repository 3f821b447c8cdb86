import { namedList } from '../platform/named-list.ts'

/** Model name with which the runtime chooses the model. */
export const anyModel = 'default'

const anyNames: ReadonlySet<string> = new Set(['', anyModel, 'auto'])

/** Reports whether the name selects a model; false when the runtime chooses. */
export const isModelNamed = (model: string): boolean => !anyNames.has(model.toLowerCase())

const shown = 10

/** Returns the error text for a model that the runtime does not offer. `ids` are the models that it offers. */
export function unknownModel(model: string, ids: readonly string[]): string {
  if (ids.length === 0) return `model ${JSON.stringify(model)} is unknown to the runtime: it lists no models`
  return `model ${JSON.stringify(model)} is unknown to the runtime; use one of ${namedList(ids, shown)}, or "${anyModel}"`
}
