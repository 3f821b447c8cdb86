import { SegmentedControl } from '@mantine/core'
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

/** Allow, ask a person first, or deny. */
export function PolicyControl({ label, value, onChange }: Props) {
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
