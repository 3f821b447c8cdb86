import { type Json, recordOf, recordsOf, textOf } from '../../platform/json.ts'

/** Returns the values of an option, including those in groups. */
const valuesOf = (option: Json): string[] =>
  recordsOf(option['options']).flatMap(entry =>
    entry['options'] === undefined ? [textOf(entry['value'])] : valuesOf(entry),
  )

const offered = (offers: Json, category: string, value: string): Json | undefined =>
  recordsOf(offers['configOptions']).find(option => option['category'] === category && valuesOf(option).includes(value))

/** Returns the parameters that set a model; undefined when the session does not offer it. */
export function offeredModel(offers: Json, model: string): { configId: string; value: string } | undefined {
  const option = offered(offers, 'model', model)
  return option && { configId: textOf(option['id']), value: model }
}

interface ModeCall {
  readonly method: string
  readonly params: Readonly<Record<string, string>>
}

/** Returns the call that sets a mode; undefined when the session does not offer it or is in it. */
export function offeredMode(offers: Json, mode: string | undefined): ModeCall | undefined {
  if (mode === undefined) return undefined
  const option = offered(offers, 'mode', mode)
  if (option) {
    if (option['currentValue'] === mode) return undefined
    return { method: 'session/set_config_option', params: { configId: textOf(option['id']), value: mode } }
  }
  const { currentModeId, availableModes } = recordOf(offers['modes'])
  const isOffered = recordsOf(availableModes).some(({ id }) => id === mode)
  return isOffered && currentModeId !== mode ? { method: 'session/set_mode', params: { modeId: mode } } : undefined
}
