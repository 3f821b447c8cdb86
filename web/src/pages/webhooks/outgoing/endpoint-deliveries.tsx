import { Button, Group, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import type { EndpointDelivery } from '../../../../../src/contract/webhook-endpoints.ts'
import { client } from '../../../data/client.ts'
import { useAddress } from '../../../parts/address.ts'
import { Time } from '../../../parts/figures.tsx'
import { ChoiceFilter } from '../../../parts/filters.tsx'
import { duration } from '../../../parts/format.ts'
import { MayChange } from '../../../parts/may-change.tsx'
import { Loading, ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { TextLink } from '../../../parts/text-link.tsx'
import { endpointDeliveriesQuery, endpointsKey } from '../queries.ts'
import css from '../webhooks.module.css'
import { endpointDeliveryStates } from './endpoint-state.ts'

const states = Object.keys(endpointDeliveryStates) as EndpointDelivery['state'][]

/** What an endpoint got: each event with its state, newest first. */
export function EndpointDeliveries({ endpointId }: { readonly endpointId: string }) {
  const [{ state: named }, setAddress] = useAddress<'state'>()
  const state = states.find(each => each === named)
  const log = useInfiniteQuery(endpointDeliveriesQuery(endpointId, state))
  const rows = log.data?.pages.flatMap(({ deliveries }) => deliveries)
  return (
    <section aria-label="Deliveries">
      <Group justify="space-between" mb="xs">
        <Title order={3}>Deliveries</Title>
        <ChoiceFilter
          label="State"
          value={state}
          options={states.map(value => ({ value, label: endpointDeliveryStates[value].word }))}
          onChange={next => setAddress({ state: next })}
        />
      </Group>
      <ProblemLine error={log.error} />
      {!rows && !log.error && <Loading lines={3} />}
      {rows?.length === 0 && (
        <Text size="sm" c="dimmed">
          {state === undefined ? 'No event has been sent in the last 7 days.' : 'No delivery has this state.'}
        </Text>
      )}
      <ul className={css.rows}>
        {rows?.map(delivery => (
          <Delivery key={delivery.id} delivery={delivery} />
        ))}
      </ul>
      {log.hasNextPage && (
        <Button variant="subtle" onClick={() => void log.fetchNextPage()} loading={log.isFetchingNextPage}>
          Show older deliveries
        </Button>
      )}
    </section>
  )
}

function Delivery({ delivery }: { readonly delivery: EndpointDelivery }) {
  const queries = useQueryClient()
  const { id, endpoint_id, session_id, event_type, state, attempts, http_status, error } = delivery
  const replay = useMutation({
    mutationFn: () => client.webhookEndpoints.replay({ params: { endpoint_id, delivery_id: id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: endpointsKey }),
  })
  return (
    <li className={css.row}>
      <div className={css.line}>
        <StatePill {...endpointDeliveryStates[state]} />
        <Time at={delivery.created_at} />
        <span className="mono">{event_type}</span>
        <MayChange>
          <Button
            variant="default"
            size="compact-xs"
            disabled={state === 'pending'}
            onClick={() => replay.mutate()}
            loading={replay.isPending}
          >
            Replay
          </Button>
        </MayChange>
      </div>
      <div className={css.reason}>
        {http_status !== null && `status ${http_status}, `}
        {attempts === 1 ? '1 attempt' : `${attempts} attempts`}, {duration(delivery.duration_ms)}
        {delivery.next_attempt_at !== null && (
          <>
            , next <Time at={delivery.next_attempt_at} />
          </>
        )}{' '}
        <TextLink to="/console/sessions/$sessionId" params={{ sessionId: session_id }} search={{}}>
          Open session
        </TextLink>
        {error !== null && (
          <div>
            <SafeText text={error} />
          </div>
        )}
      </div>
      <ProblemLine error={replay.error} />
    </li>
  )
}
