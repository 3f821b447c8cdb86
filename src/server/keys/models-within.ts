import { coversModel } from '../../contract/keys.ts'

/** A list that allows no model, since an empty one allows all. */
const noModel: readonly string[] = ['']

/** Returns the models that both lists of names and `provider/*` allow; an empty list allows all. */
export function modelsWithin(models: readonly string[], team: readonly string[]): readonly string[] {
  if (team.length === 0) return models
  if (models.length === 0) return team
  const both = [
    ...models.filter(name => coversModel(team, name)),
    ...team.filter(name => coversModel(models, name) && !models.includes(name)),
  ]
  return both.length === 0 ? noModel : both
}
