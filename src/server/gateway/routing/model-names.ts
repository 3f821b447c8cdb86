import { coversModel } from '../../../contract/keys.ts'
import type { KeyAccess } from '../../http/caller.ts'
import { closestTo } from '../../platform/closest.ts'
import { AppError } from '../../platform/errors.ts'
import type { Catalogue } from './known-models.ts'
import type { ModelList } from './model-list.ts'

/** Returns the full name of a bare name that only one configured provider serves; any other name unchanged. */
export function fullNameOf(catalogue: Catalogue, name: string): string {
  if (name.includes('/') || catalogue.has(name)) return name
  const [only, ...others] = catalogue.namesOf(name)
  return only === undefined || others.length > 0 ? name : only
}

interface Names {
  readonly catalogue: Catalogue
  readonly list: Pick<ModelList, 'ids'>
  /** Key of the caller: only models that it may use are suggested. */
  readonly key: KeyAccess | undefined
}

const maxHints = 5

/** Creates the error `model gpt-5.5 not found; did you mean azure/gpt-5.5 or openai/gpt-5.5?` */
export function unknownModel(name: string, names: Names): AppError {
  const meant = meantNames(names, name).filter(known => !names.key || coversModel(names.key.models, known))
  const hint = meant.length === 0 ? '' : `; did you mean ${meant.slice(0, maxHints).join(' or ')}?`
  return new AppError('not_found', `model ${name.slice(0, 200)} not found${hint}`)
}

/** The time of a comparison grows with the length of the name, which callers choose. */
const maxComparedLength = 100

function meantNames({ catalogue, list }: Names, name: string): readonly string[] {
  if (name.length > maxComparedLength) return []
  const full = catalogue.namesOf(name)
  if (full.length > 0) return full
  const byName = new Map(list.ids.flatMap(id => [[id, id] as const, [id.slice(id.lastIndexOf('/') + 1), id] as const]))
  const near = closestTo(name, [...byName.keys()])
  return near === undefined ? [] : [byName.get(near) ?? near]
}
