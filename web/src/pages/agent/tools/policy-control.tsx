import { SegmentedControl } from '@mantine/core'
import { useMayChange } from '../../../data/sign-in.tsx'
import type { Policy } from './setup.ts'

const choices = [
  { value: 'allow', label: 'Allow' },
  { value: 'ask', label: 'Ask' },
  { value: 'deny', label: 'Deny' },
] as const

interface Props {
  readonly label: string
  readonly value: Policy
  readonly onChange: (policy: Policy) => void
}

/** Allow, ask a person first, or deny. Viewers get the word. */
export function PolicyControl({ label, value, onChange }: Props) {
  if (!useMayChange()) return <span className="soft">{choices.find(choice => choice.value === value)?.label}</span>
  return (
    <SegmentedControl
      aria-label={label}
      size="xs"
      data={[...choices]}
      value={value}
      onChange={next => onChange(choices.find(choice => choice.value === next)?.value ?? 'ask')}
    />
  )
}
