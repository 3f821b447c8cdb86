import { Stack } from '@mantine/core'
import type { AgentFieldChange } from '../../../../src/contract/agents.ts'
import { DiffView } from '../../parts/diff-view.tsx'
import { LineDiff } from '../../parts/line-diff.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './agent.module.css'
import { type FieldChange, textOf } from './draft.ts'

const titles: Readonly<Record<string, string>> = {
  name: 'Name',
  description: 'Description',
  model: 'Model',
  harness: 'Runtime',
  system: 'Prompt',
  tools: 'Tools',
  status: 'Status',
}

const titleOf = (field: string): string => titles[field] ?? field.replace(/^config\./, 'Setting ')

const maxScalar = 120
const isScalar = (text: string): boolean => text.length <= maxScalar && !text.includes('\n')

/** Fields that differ: short values side by side, texts line by line. */
export function ChangeList({ changes }: { readonly changes: readonly FieldChange[] }) {
  if (changes.length === 0) return <span className="soft">Nothing differs.</span>
  return (
    <Stack gap="md">
      {changes.map(({ field, before, after }) => (
        <div key={field} className={css.change}>
          <div className={css.changeName}>
            <SafeText text={titleOf(field)} />
          </div>
          {isScalar(before) && isScalar(after) && field !== 'system' ? (
            <Scalar before={before} after={after} />
          ) : (
            <DiffView before={before} after={after} label={titleOf(field)} />
          )}
        </div>
      ))}
    </Stack>
  )
}

function Scalar({ before, after }: { readonly before: string; readonly after: string }) {
  return (
    <div className={css.scalar}>
      {before === '' ? (
        <span className="soft">not set</span>
      ) : (
        <del>
          <SafeText text={before} />
        </del>
      )}
      <span aria-hidden> → </span>
      {after === '' ? (
        <span className="soft">not set</span>
      ) : (
        <ins>
          <SafeText text={after} />
        </ins>
      )}
    </div>
  )
}

/** Differences between two stored versions, as the service compared them. */
export function ServerChanges({ changes }: { readonly changes: readonly AgentFieldChange[] }) {
  const withLines = changes.filter(({ lines }) => lines !== undefined)
  const others = changes.filter(({ lines }) => lines === undefined)
  return (
    <Stack gap="md" mt="sm">
      {withLines.map(({ field, lines }) => (
        <div key={field} className={css.change}>
          <div className={css.changeName}>{titleOf(field)}</div>
          <LineDiff lines={lines ?? []} label={titleOf(field)} />
        </div>
      ))}
      {(others.length > 0 || withLines.length === 0) && (
        <ChangeList
          changes={others.map(({ field, before, after }) => ({ field, before: textOf(before), after: textOf(after) }))}
        />
      )}
    </Stack>
  )
}
