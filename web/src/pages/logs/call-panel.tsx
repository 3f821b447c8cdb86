import { Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { UsageCall } from '../../../../src/contract/usage.ts'
import { useNames } from '../../data/names.ts'
import { LinkButton } from '../../parts/link-button.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { CallBodies } from './call-bodies.tsx'
import { CallFacts, CallTokens, Degradations } from './call-facts.tsx'
import { callQuery } from './queries.ts'

interface Props {
  /** Request id; the id of the row for a call without one. */
  readonly name: string
  /** The row of the list, if it is loaded. */
  readonly row: UsageCall | undefined
  readonly onClose: () => void
}

const isRequestId = (name: string): boolean => name.startsWith('req_')

/** One model call beside the list, with every field of the ledger. */
export function CallPanel({ name, row, onClose }: Props) {
  const { data, error, refetch } = useQuery({ ...callQuery(name), enabled: isRequestId(name) })
  const call = data ?? row
  return (
    <SidePanel title={call ? `Call of ${call.model}` : 'Model call'} onClose={onClose}>
      {call ? (
        <Details call={call} hasBodies={data?.has_bodies} />
      ) : error ? (
        <ProblemBlock error={error} what="load the call" retry={() => void refetch()} />
      ) : isRequestId(name) ? (
        <Loading />
      ) : (
        <Text>This call has no request id, so only the list has it. Scroll the list to it.</Text>
      )}
    </SidePanel>
  )
}

interface DetailsProps {
  readonly call: UsageCall
  /** Undefined until the service has reported it. */
  readonly hasBodies: boolean | undefined
}

function Details({ call, hasBodies }: DetailsProps) {
  const names = useNames()
  return (
    <Stack gap="md">
      <Group gap="sm">
        {call.request_id !== null && (
          <MayChange>
            <LinkButton to="/console/playground" search={{ call: call.request_id }} variant="default">
              Open in playground
            </LinkButton>
          </MayChange>
        )}
        {call.session_id !== null && (
          <LinkButton to="/console/sessions/$sessionId" params={{ sessionId: call.session_id }} variant="default">
            Open session
          </LinkButton>
        )}
      </Group>
      <CallFacts call={call} names={names} />
      <CallTokens call={call} />
      {call.degraded !== null && <Degradations text={call.degraded} />}
      {call.request_id !== null && hasBodies !== undefined && (
        <CallBodies requestId={call.request_id} hasBodies={hasBodies} />
      )}
    </Stack>
  )
}
