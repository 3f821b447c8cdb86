import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ImportedModel, PriceSettings } from './deployments.ts'
import type { ConfigFile, Place } from './file.ts'
import { isLiteLlmList, modelsOfLiteLlm } from './litellm-prices.ts'
import { isModelsDevList, modelsOfModelsDev } from './models-dev-prices.ts'
import { isRecord, type PriceListModel } from './price-list.ts'

/** Defaults. */
export const defaultPrices: PriceSettings = { imported: {}, importedVersion: '', unknown: 'budgeted' }

/** Characters of the digest that identify the lists. */
const versionLength = 8

interface Options {
  readonly file: ConfigFile
  /** Path of the configuration file; imports are relative to its folder. */
  readonly path: string | undefined
  readonly report: (text: string, place: Place) => void
}

/**
 * Returns the settings of the block `prices`, including imported price lists. Reports unusable lists with the reason.
 */
export function pricesOfFile({ file, path = '', report }: Options): PriceSettings {
  const given = file.value.prices ?? {}
  const unknown = unknownOf(given.unknown)
  if (unknown === undefined) report('prices.unknown must be refuse or allow', file.place(['prices', 'unknown']))
  const version = createHash('sha256')
  const lists = (given.import ?? []).map((name, index) => {
    // A value of a wrong type was reported while the file was parsed.
    if (name === undefined) return []
    try {
      const text = textOf(resolve(dirname(path), name))
      version.update(text)
      return modelsIn(text)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      report(`prices.import[${index}] ${name} ${reason}`, file.place(['prices', 'import', index]))
      return []
    }
  })
  const importedVersion = lists.length === 0 ? '' : version.digest('hex').slice(0, versionLength)
  return { imported: joined(lists), importedVersion, unknown: unknown ?? defaultPrices.unknown }
}

/** Undefined for an invalid value. */
function unknownOf(word: string | undefined): PriceSettings['unknown'] | undefined {
  if (word === undefined) return defaultPrices.unknown
  return word === 'refuse' || word === 'allow' ? word : undefined
}

/** Throws an error whose message continues after the name of the list. */
function modelsIn(text: string): readonly PriceListModel[] {
  const list = parsed(text)
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
  // In reverse order, so that the first file wins.
  const models = lists.toReversed().flat()
  return Object.fromEntries(models.map(({ provider, model, ...figures }) => [`${provider}/${model}`, figures]))
}
