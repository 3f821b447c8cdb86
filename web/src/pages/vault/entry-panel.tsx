import { Button, Group, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { VaultEntry } from '../../../../src/contract/vault.ts'
import { client } from '../../data/client.ts'
import { useIsAdmin, useMayChange } from '../../data/sign-in.tsx'
import { useAddress } from '../../parts/address.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { scopeWords } from './entry-columns.tsx'
import { EntryForm } from './entry-form.tsx'
import { reloadVault } from './queries.ts'
import { consequenceOf, Uses } from './uses.tsx'

interface Props {
  readonly entry: VaultEntry
  readonly onClose: () => void
}

/** One entry beside the list. */
export function EntryPanel({ entry, onClose }: Props) {
  const queries = useQueryClient()
  const isAdmin = useIsAdmin()
  const mayChange = useMayChange()
  const [{ edit }, setAddress] = useAddress<'edit'>()
  const [isAsking, setAsking] = useState(false)
  const stopEditing = () => setAddress({ edit: undefined })
  if (mayChange && edit === '1') {
    return (
      <SidePanel title={`Replace ${entry.key}`} onClose={stopEditing}>
        <Stack gap="md">
          <Text size="sm">Whatever uses the entry has the new value from its next use on.</Text>
          <EntryForm entry={entry} onCancel={stopEditing} onDone={stopEditing} />
        </Stack>
      </SidePanel>
    )
  }
  return (
    <SidePanel title={entry.key} onClose={onClose}>
      <Stack gap="md">
        {mayChange && (
          <Group gap="sm">
            <Button variant="default" onClick={() => setAddress({ edit: '1' })}>
              Replace value
            </Button>
            <Button variant="default" c="var(--state-failed)" onClick={() => setAsking(true)}>
              Delete entry
            </Button>
            {isAdmin && (
              <Link to="/console/audit" search={{ object_id: entry.key }}>
                Changes
              </Link>
            )}
          </Group>
        )}
        <Facts
          of={[
            ['Available to', scopeWords[entry.scope]],
            ['Used by', <Uses key="uses" entry={entry} />],
            ['Last used', <Time key="used" at={entry.last_used_at} />],
            ['Changed', <Time key="changed" at={entry.updated_at} />],
            ['Created', <Time key="created" at={entry.created_at} />],
          ]}
        />
      </Stack>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        question={`Delete vault entry ${entry.key}?`}
        consequence={<SafeText text={consequenceOf(entry)} />}
        action="Delete entry"
        name={entry.key}
        run={async () => {
          await client.vault.remove({ params: { key: entry.key }, query: { scope: entry.scope } })
          await reloadVault(queries)
          onClose()
        }}
      />
    </SidePanel>
  )
}
