import { Button, Group, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { EndpointTestResult, WebhookEndpoint } from '../../../../../src/contract/webhook-endpoints.ts'
import { client } from '../../../data/client.ts'
import { useAgentNames } from '../../../data/names.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { CopyButton, Id } from '../../../parts/copy.tsx'
import { Facts } from '../../../parts/facts.tsx'
import { Time } from '../../../parts/figures.tsx'
import { duration } from '../../../parts/format.ts'
import { MayChange } from '../../../parts/may-change.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { SidePanel } from '../../../parts/side-panel.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { endpointQuery, endpointsKey, endpointsQuery } from '../queries.ts'
import { EndpointDeliveries } from './endpoint-deliveries.tsx'
import { EditEndpoint } from './endpoint-form.tsx'
import { endpointState } from './endpoint-state.ts'
import { RotateSecret } from './rotate-secret.tsx'

interface Props {
  readonly id: string
  readonly onClose: () => void
}

/** One endpoint: its state, what it gets, and its deliveries. */
export function EndpointPanel({ id, onClose }: Props) {
  const { data: endpoint, error, refetch } = useQuery(endpointQuery(id))
  if (!endpoint) {
    return (
      <SidePanel title="Endpoint" onClose={onClose}>
        {error ? <ProblemBlock error={error} what="load the endpoint" retry={() => void refetch()} /> : <Loading />}
      </SidePanel>
    )
  }
  return (
    <SidePanel title={hostOf(endpoint.url)} onClose={onClose}>
      <Stack gap="md">
        <Actions endpoint={endpoint} onDeleted={onClose} />
        <EndpointFacts endpoint={endpoint} />
        <EndpointDeliveries endpointId={endpoint.id} />
      </Stack>
    </SidePanel>
  )
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)

interface ActionsProps {
  readonly endpoint: WebhookEndpoint
  readonly onDeleted: () => void
}

function Actions({ endpoint, onDeleted }: ActionsProps) {
  const queries = useQueryClient()
  const [isEditing, editing] = useDisclosure()
  const [isRotating, rotating] = useDisclosure()
  const [isDeleting, deleting] = useDisclosure()
  const params = { endpoint_id: endpoint.id }
  const refresh = () => queries.invalidateQueries({ queryKey: endpointsKey })
  const test = useMutation({ mutationFn: () => client.webhookEndpoints.test({ params }), onSettled: refresh })
  const isActive = endpoint.status === 'active'
  const pause = useMutation({
    mutationFn: () => client.webhookEndpoints.update({ params, body: { status: isActive ? 'paused' : 'active' } }),
    onSettled: refresh,
  })
  const remove = async () => {
    await client.webhookEndpoints.remove({ params })
    onDeleted()
    // Only the list: the deleted object is still open.
    await queries.invalidateQueries({ queryKey: endpointsQuery.queryKey })
  }
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <StatePill {...endpointState(endpoint)} />
        <Id id={endpoint.id} what="endpoint id" />
      </Group>
      {endpoint.disabled_reason !== null && (
        <Text size="sm">
          <SafeText text={endpoint.disabled_reason} />. Events of the time since then are sent once it is active again.
        </Text>
      )}
      <MayChange>
        <Group gap="sm">
          <Button variant="default" onClick={() => test.mutate()} loading={test.isPending}>
            Send test event
          </Button>
          <Button variant="default" onClick={() => pause.mutate()} loading={pause.isPending}>
            {isActive ? 'Pause endpoint' : 'Activate endpoint'}
          </Button>
          <Button variant="default" onClick={editing.open}>
            Edit endpoint
          </Button>
          <Button variant="default" onClick={rotating.open}>
            Rotate secret
          </Button>
          <Button variant="default" onClick={deleting.open}>
            Delete endpoint
          </Button>
        </Group>
      </MayChange>
      {test.data && <TestResult result={test.data} />}
      <ProblemLine error={test.error ?? pause.error} />
      {isEditing && <EditEndpoint endpoint={endpoint} onClose={editing.close} />}
      {isRotating && <RotateSecret endpoint={endpoint} onClose={rotating.close} />}
      <Confirm
        isOpen={isDeleting}
        onClose={deleting.close}
        question={`Delete the endpoint at ${hostOf(endpoint.url)}?`}
        consequence="It gets no further events, its log of deliveries is deleted, and events that wait are not sent."
        action="Delete endpoint"
        run={remove}
      />
    </Stack>
  )
}

function TestResult({ result: { ok, http_status, error, duration_ms } }: { readonly result: EndpointTestResult }) {
  const status = http_status === null ? '' : `status ${http_status} `
  return (
    <div role="status">
      <StatePill
        state={ok ? 'done' : 'failed'}
        word={ok ? 'test delivered' : 'test failed'}
        detail={`${status}after ${duration(duration_ms)}`}
      />
      {error !== null && (
        <Text size="sm">
          <SafeText text={error} />
        </Text>
      )}
    </div>
  )
}

function EndpointFacts({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const names = useAgentNames()
  const { url, description, events, agent_ids, owner_id, run_as_key_id, failing_since, created_at } = endpoint
  return (
    <Facts
      of={[
        [
          'Address',
          <span key="url">
            <span className="mono">
              <SafeText text={url} />
            </span>{' '}
            <CopyButton text={url} what="address" />
          </span>,
        ],
        ['Description', description !== null && <SafeText text={description} />],
        ['Failing since', failing_since !== null && <Time at={failing_since} />],
        ['Events', events.length === 0 ? 'all' : events.join(', ')],
        [
          'Agents',
          agent_ids.length === 0 ? (
            'all'
          ) : (
            <SafeText key="agents" text={agent_ids.map(id => names.get(id) ?? id).join(', ')} />
          ),
        ],
        ['Owner', owner_id === null ? 'all' : <SafeText key="owner" text={owner_id} />],
        [
          'Ends with',
          run_as_key_id === null ? 'no key' : <Id key="key" id={run_as_key_id} what="id of the key that set it up" />,
        ],
        ['Created', <Time key="created" at={created_at} />],
      ]}
    />
  )
}
