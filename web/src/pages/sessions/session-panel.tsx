import { Group, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { shownActivity } from '../../parts/activity.ts'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Money, Time } from '../../parts/figures.tsx'
import { count, money } from '../../parts/format.ts'
import { LinkButton } from '../../parts/link-button.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'

interface Props {
  readonly id: string
  readonly onClose: () => void
}

/** A session beside the list. */
export function SessionPanel({ id, onClose }: Props) {
  const { data, error, refetch } = useQuery({
    queryKey: ['session-summary', id],
    queryFn: () => client.sessions.summary({ params: { session_id: id } }),
    meta: live,
  })
  if (!data) {
    return (
      <SidePanel title="Session" onClose={onClose}>
        {error ? <ProblemBlock error={error} what="load the session" retry={() => void refetch()} /> : <Loading />}
      </SidePanel>
    )
  }
  const { state, word, detail } = shownActivity(data)
  const { budget, agent_name: agent, agent_version: version } = data
  return (
    <SidePanel title={data.title === '' ? 'Session without a title' : data.title} onClose={onClose}>
      <Stack gap="md">
        <StatePill state={state} word={word} detail={detail} />
        <Group>
          <LinkButton to="/console/sessions/$sessionId" params={{ sessionId: id }}>
            Open session
          </LinkButton>
        </Group>
        <Facts
          of={[
            ['Id', <Id key="id" id={id} what="session id" />],
            [
              'Agent',
              agent === null ? (
                'none'
              ) : (
                <SafeText key="agent" text={`${agent}${version === null ? '' : `@${version}`}`} />
              ),
            ],
            ['Owner', <SafeText key="owner" text={data.owner_id} />],
            ['Runtime', data.runtime],
            ['Model', data.model ?? 'not called yet'],
            ['Model calls', count(data.requests)],
            [
              'Tokens',
              `${count(data.input_tokens)} in, ${count(data.output_tokens)} out, ${count(data.cached_tokens)} cached`,
            ],
            ['Cost', <Money key="cost" usd={data.requests === 0 ? 0 : data.cost_usd} />],
            [
              'Budget',
              budget
                ? `${money(budget.spent_usd)} of ${budget.max_usd === null ? 'no limit' : money(budget.max_usd)}`
                : 'no separate budget',
            ],
            ['Waiting prompts', count(data.waiting_prompts)],
            ['Created', <Time key="created" at={data.created_at} />],
            ['Last change', <Time key="updated" at={data.updated_at} />],
          ]}
        />
      </Stack>
    </SidePanel>
  )
}
