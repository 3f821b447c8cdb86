import { Button, Group, Stack, Switch } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { WebhookCheck, WebhookCheckItem } from '../../../../src/contract/webhooks.ts'
import { client } from '../../data/client.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import type { StateName } from '../../theme.ts'
import { isHeaders } from './headers.ts'
import { deliveriesKey } from './queries.ts'
import css from './webhooks.module.css'

interface Props {
  readonly agentId: string
  readonly sample: { readonly headers: Readonly<Record<string, string>>; readonly payload: unknown }
}

/** Sends a payload through the checks of the intake. The agent runs only when that is switched on. */
export function TestSend({ agentId, sample }: Props) {
  const queries = useQueryClient()
  const [payload, setPayload] = useState(sample.payload)
  const [headers, setHeaders] = useState<unknown>(sample.headers)
  const [isRun, setRun] = useState(false)
  const test = useMutation({
    mutationFn: () =>
      client.webhooks.check({
        params: { agent_id: agentId },
        body: { payload: payload ?? null, run_agent: isRun, ...(isHeaders(headers) && { headers: { ...headers } }) },
      }),
    onSettled: () => queries.invalidateQueries({ queryKey: deliveriesKey }),
  })
  const headersProblem = headers === undefined || isHeaders(headers) ? undefined : 'values must be texts'
  return (
    <Stack gap="sm">
      <JsonField label="Payload" value={payload} onChange={setPayload} minRows={4} />
      <JsonField
        label="Headers"
        description="Token and signature are added with the stored secrets"
        value={headers}
        onChange={setHeaders}
        error={headersProblem}
        minRows={2}
      />
      <Switch
        label="Also run the agent"
        description="Starts a session with this delivery, marked as a test"
        checked={isRun}
        onChange={({ currentTarget }) => setRun(currentTarget.checked)}
      />
      <Group>
        <Button
          variant="default"
          onClick={() => test.mutate()}
          loading={test.isPending}
          disabled={headersProblem !== undefined}
        >
          Send test delivery
        </Button>
      </Group>
      <ProblemLine error={test.error} />
      {test.data && <CheckResult result={test.data} />}
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
