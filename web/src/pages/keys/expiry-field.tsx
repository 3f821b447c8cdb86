import { Button, Group, Stack, TextInput } from '@mantine/core'
import { dayOf } from './key-draft.ts'
import type { FieldsProps } from './key-fields.ts'

const choices = [
  ['30 days', 30],
  ['90 days', 90],
  ['1 year', 365],
] as const

const dayMs = 86_400_000

/** The last day of a key. */
export function ExpiryField({ draft, set, errorAt }: FieldsProps) {
  return (
    <Stack gap={4}>
      <TextInput
        label="Last day"
        description="The key ends at midnight of your time zone. Empty: it does not expire"
        type="date"
        min={dayOf(new Date())}
        value={draft.expires}
        onChange={({ currentTarget }) => set({ expires: currentTarget.value })}
        error={errorAt('expires_at')}
      />
      <Group gap={4}>
        {choices.map(([label, days]) => (
          <Button
            key={label}
            variant="default"
            size="compact-xs"
            onClick={() => set({ expires: dayOf(new Date(Date.now() + days * dayMs)) })}
          >
            {label}
          </Button>
        ))}
        <Button
          variant="default"
          size="compact-xs"
          disabled={draft.expires === ''}
          onClick={() => set({ expires: '' })}
        >
          No end
        </Button>
      </Group>
    </Stack>
  )
}
