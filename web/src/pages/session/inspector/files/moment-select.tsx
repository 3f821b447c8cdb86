import { Select } from '@mantine/core'
import type { ListedCheckpoint } from '../../../../../../src/contract/files.ts'
import { exactTime, plural } from '../../../../parts/format.ts'

interface Props {
  readonly label: string
  readonly checkpoints: readonly ListedCheckpoint[]
  /** Id of an event, or `start`; undefined: the default, which `first` names. */
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
  /** Name of the default. */
  readonly first: string
}

/** A field that chooses a stored state of the files. */
export function MomentSelect({ label, checkpoints, value, onChange, first }: Props) {
  const choices = checkpoints.flatMap(({ event_id: id, seq, created_at: at, changed, files }) => {
    if (id === null) return []
    const size = changed === null ? plural(files, 'file') : `${changed} changed`
    return [{ value: id, label: `Event ${seq} · ${size} · ${exactTime(Date.parse(at))}` }]
  })
  return (
    <Select
      size="xs"
      label={label}
      data={[{ value: '', label: first }, ...choices]}
      value={value ?? ''}
      onChange={next => onChange(next === null || next === '' ? undefined : next)}
      searchable={choices.length > 10}
      comboboxProps={{ withinPortal: true }}
    />
  )
}
