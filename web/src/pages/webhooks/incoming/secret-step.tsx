import { Autocomplete, PasswordInput, SegmentedControl, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { vaultNamesQuery } from '../queries.ts'
import { senderOf } from './senders.ts'
import type { SecretSource, SetupDraft } from './setup-draft.ts'

interface Props {
  readonly draft: SetupDraft
  readonly set: (changes: Partial<SetupDraft>) => void
}

const sources: readonly { readonly value: SecretSource; readonly label: string }[] = [
  { value: 'generate', label: 'Generate secret' },
  { value: 'paste', label: 'Paste secret' },
  { value: 'keep', label: 'Use stored secret' },
]

/** The vault entry with the secret: generated, pasted, or one that exists. */
export function SecretStep({ draft, set }: Props) {
  const { data: entries = [] } = useQuery(vaultNamesQuery)
  const sender = senderOf(draft.sender)
  const isStored = entries.some(({ key }) => key === draft.entry)
  return (
    <>
      <Text size="sm">
        {sender.givesSecret
          ? `${sender.name} creates the secret: paste it here.`
          : 'Generate a secret here and enter it at the sender. It is shown once.'}
      </Text>
      <SegmentedControl
        size="xs"
        style={{ alignSelf: 'start' }}
        aria-label="Where the secret comes from"
        data={[...sources]}
        value={draft.source}
        onChange={source => set({ source: source as SecretSource })}
      />
      <Autocomplete
        label="Vault entry"
        description="Name under which the secret is stored, encrypted"
        data={entries.map(({ key }) => key)}
        value={draft.entry}
        onChange={entry => set({ entry })}
        limit={20}
        required
      />
      {draft.source === 'paste' && (
        <PasswordInput
          label="Secret"
          value={draft.pasted}
          onChange={({ currentTarget }) => set({ pasted: currentTarget.value })}
          autoComplete="off"
          required
        />
      )}
      <Text size="sm" c="dimmed">
        {hintOf(draft.source, isStored)}
      </Text>
    </>
  )
}

function hintOf(source: SecretSource, isStored: boolean): string {
  if (source === 'keep') {
    return isStored
      ? 'This entry is stored. The test says whether the service can use it.'
      : 'Your key sees no entry of this name. The test says whether the service finds one.'
  }
  return isStored
    ? 'This replaces the stored secret: senders with the old one get 401. To change it without a gap, store both in the vault entry, one per line.'
    : 'The entry is created when you save.'
}
