import { Stack, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { AuditEntry } from '../../../../src/contract/audit.ts'
import { Id } from '../../parts/copy.tsx'
import { DiffView } from '../../parts/diff-view.tsx'
import { Facts } from '../../parts/facts.tsx'
import { exactTime } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { addressOf } from './changes.ts'

interface Props {
  readonly entry: AuditEntry
  readonly onClose: () => void
}

const textOf = (state: AuditEntry['before']): string => (state === null ? '' : JSON.stringify(state, null, 2))

/** One change beside the list: who, from where, before and after. */
export function EntryPanel({ entry, onClose }: Props) {
  const { key_id: key, request_id: request, before, after } = entry
  const address = addressOf(entry)
  return (
    <SidePanel title={entry.action} onClose={onClose}>
      <Stack gap="md">
        <Facts
          of={[
            ['When', exactTime(Date.parse(entry.created_at))],
            ['Who', <SafeText key="who" text={`${entry.principal} (${entry.role})`} />],
            ['Key', key !== null && <KeyLink id={key} />],
            ['Address', entry.address ?? 'the service itself'],
            ['Object', <ObjectLink key="object" id={entry.object_id} address={address} />],
            ['Owner', entry.owner_id !== null && <SafeText text={entry.owner_id} />],
            ['Request', request !== null && <Id id={request} what="request id" />],
            ['Entry', <Id key="id" id={entry.id} what="entry id" />],
          ]}
        />
        <section>
          <Title order={3} mb={4}>
            {before === null ? 'After' : after === null ? 'Before' : 'Before and after'}
          </Title>
          {before === null && after === null ? (
            <span className="soft">The entry has no details.</span>
          ) : (
            <DiffView before={textOf(before)} after={textOf(after)} label={`Change by ${entry.action}`} />
          )}
        </section>
      </Stack>
    </SidePanel>
  )
}

const KeyLink = ({ id }: { readonly id: string }) => (
  <Link to="/console/keys" search={{ open: id }} className="mono">
    {id}
  </Link>
)

function ObjectLink({ id, address }: { readonly id: string; readonly address: string | undefined }) {
  const text = (
    <span className="mono">
      <SafeText text={id} />
    </span>
  )
  return address === undefined ? text : <Link to={address}>{text}</Link>
}
