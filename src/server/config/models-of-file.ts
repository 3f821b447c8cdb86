import type { Deployment } from './deployments.ts'
import type { Place } from './file.ts'
import { checkedEntry, type EntryRules } from './model-entry.ts'
import type { ModelEntry } from './model-shape.ts'
import { deploymentId } from './providers.ts'
import type { ReportAt } from './yaml-shape.ts'

interface Options extends Pick<EntryRules, 'keyOf' | 'demo'> {
  readonly models: readonly (Partial<ModelEntry> | undefined)[]
  readonly place: (path: readonly (string | number)[]) => Place
  readonly report: (text: string, place: Place) => void
}

/** Returns the deployments of `model_list`. Entries with the same name form a group. */
export function modelsOfFile({ models, place, keyOf, demo, report }: Options): Deployment[] {
  const counts = new Map<string, number>()
  return models.flatMap((entry, index) => {
    if (!entry) return []
    const reportAt: ReportAt = (text, ...path) =>
      report(`model_list[${index}]${text}`, place(['model_list', index, ...path]))
    const checked = checkedEntry({ entry, keyOf, demo, mayReadFiles: true, reportAt })
    if (!checked) return []
    // Counted per escaped name: two aliases that differ only in special characters must not share an id.
    const stem = deploymentId(checked.alias, 0)
    const number = (counts.get(stem) ?? 0) + 1
    counts.set(stem, number)
    return [{ ...checked, id: deploymentId(checked.alias, number) }]
  })
}
