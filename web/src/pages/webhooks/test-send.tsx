import { Button, Group, Stack, Switch } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { WebhookCheck, WebhookCheckItem } from '../../../../src/contract/webhooks.ts'
import { client } from '../../data/client.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import type { StateName } from '../../theme.ts'
import { type Example, requestOf } from './example-fields.tsx'
import { deliveriesKey } from './queries.ts'
import css from './webhooks.module.css'

interface Props {
  readonly agentId: string
  readonly example: Example
}

/** Sends a payload through the checks of the intake. The agent runs only when that is switched on. */
export function TestSend({ agentId, example }: Props) {
  const queries = useQueryClient()
  const result = useRef<HTMLDivElement>(null)
  const [isRun, setRun] = useState(false)
  const test = useMutation({
    mutationFn: () =>
      client.webhooks.check({
        params: { agent_id: agentId },
        body: { ...requestOf(example), run_agent: isRun },
      }),
    onSuccess: () => requestAnimationFrame(() => result.current?.scrollIntoView({ block: 'nearest' })),
    onSettled: () => queries.invalidateQueries({ queryKey: deliveriesKey }),
  })
  return (
    <Stack gap="sm">
      <Switch
        label="Also run the agent"
        description="Starts a session with this delivery, marked as a test"
        checked={isRun}
        onChange={({ currentTarget }) => setRun(currentTarget.checked)}
      />
      <Group>
        <Button variant="default" onClick={() => test.mutate()} loading={test.isPending}>
          Send test delivery
        </Button>
      </Group>
      <ProblemLine error={test.error} />
      <div ref={result}>{test.data && <CheckResult result={test.data} />}</div>
    </Stack>
  )
}

const outcomes: Readonly<Record<WebhookCheckItem['outcome'], StateName>> = {
  passed: 'done',
  failed: 'failed',
  skipped: 'stopped',
}

const names: Readonly<Record<WebhookCheckItem['check'], string>> = {
  agent: 'Agent',
  token: 'Token',
  signature: 'Signature',
  id: 'Delivery id',
  body: 'Body',
}

function CheckResult({ result: { ok, checks, delivery } }: { readonly result: WebhookCheck }) {
  return (
    <div role="status" aria-label="Result of the test">
      <StatePill
        state={ok ? 'done' : 'failed'}
        word={ok ? 'a sender would be accepted' : 'a sender would be refused'}
      />
      <ul className={css.checks}>
        {checks.map(({ check, outcome, message }) => (
          <li key={check}>
            <span>{names[check]}</span>
            <StatePill state={outcomes[outcome]} word={outcome} />
            <span className={css.reason}>
              <SafeText text={message} />
            </span>
          </li>
        ))}
      </ul>
      {delivery && delivery.session_id !== '' && (
        <TextLink to="/console/sessions/$sessionId" params={{ sessionId: delivery.session_id }} search={{}}>
          Open the session of the test
        </TextLink>
      )}
    </div>
  )
}
