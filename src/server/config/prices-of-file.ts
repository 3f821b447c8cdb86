import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ImportedModel, PriceSettings } from './config.ts'
import type { ConfigFile, Place } from './file.ts'
import { isLiteLlmList, modelsOfLiteLlm } from './litellm-prices.ts'
import { isModelsDevList, modelsOfModelsDev } from './models-dev-prices.ts'
import { isRecord, type PriceListModel } from './price-list.ts'

/** What holds where the file says nothing. */
export const defaultPrices: PriceSettings = { imported: {}, unknown: 'allow' }

interface Options {
  readonly file: ConfigFile
  /** Of the configuration file: what it imports is looked for beside it. */
  readonly path: string | undefined
  readonly report: (text: string, place: Place) => void
}

/** The file's `prices` block, with the price lists that it imports. A list that cannot be used is reported with the reason. */
export function pricesOfFile({ file, path = '', report }: Options): PriceSettings {
  const given = file.value.prices ?? {}
  const unknown = given.unknown ?? defaultPrices.unknown
  if (unknown !== 'refuse' && unknown !== 'allow')
    report('prices.unknown must be refuse or allow', file.place(['prices', 'unknown']))
  const lists = (given.import ?? []).map((name, index) => {
    // What is no text has been reported by the reader of the file.
    if (name === undefined) return []
    try {
      return modelsIn(resolve(dirname(path), name))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      report(`prices.import[${index}] ${name} ${reason}`, file.place(['prices', 'import', index]))
      return []
    }
  })
  return { imported: joined(lists), unknown: unknown === 'refuse' ? 'refuse' : 'allow' }
}

/** Throws an error whose message goes on after the name of the list. */
function modelsIn(path: string): readonly PriceListModel[] {
  const list = parsed(textOf(path))
  if (isModelsDevList(list)) return modelsOfModelsDev(list)
  if (isLiteLlmList(list)) return modelsOfLiteLlm(list)
  throw new Error('is neither a price list of LiteLLM nor one of models.dev')
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error(`cannot be read: ${(cause as NodeJS.ErrnoException).code ?? 'unknown error'}`, { cause })
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (cause) {
    throw new Error('is not valid JSON', { cause })
  }
  if (!isRecord(list)) throw new Error('is not a JSON object')
  return list
}

function joined(lists: readonly (readonly PriceListModel[])[]): Record<string, ImportedModel> {
  // From the last to the first, so that the first file has the last word.
  const models = lists.toReversed().flat()
  return Object.fromEntries(models.map(({ provider, model, ...figures }) => [`${provider}/${model}`, figures]))
}
