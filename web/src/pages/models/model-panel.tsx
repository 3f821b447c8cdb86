import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ModelSetting } from '../../../../src/contract/model-settings.ts'
import type { ModelPricing } from '../../../../src/contract/models.ts'
import { client } from '../../data/client.ts'
import { useAddress } from '../../parts/address.ts'
import { JsonBlock } from '../../parts/code.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { count } from '../../parts/format.ts'
import { InConfigFile } from '../../parts/in-config-file.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { EndCooldown, HealthPill, sourceWords } from './model-columns.tsx'
import { EditModel } from './model-form.tsx'
import { type ModelRow, perMillion, priceSources, upstreamOf } from './model-rows.ts'
import { reloadModels } from './queries.ts'
import { TestModel } from './test-model.tsx'

interface Props {
  readonly row: ModelRow
  readonly onClose: () => void
}

/** One upstream of a model beside the list. */
export function ModelPanel({ row, onClose }: Props) {
  const [{ edit }, setAddress] = useAddress<'edit'>()
  const stopEditing = () => setAddress({ edit: undefined })
  const { setting, deployment, model_name: name } = row
  if (edit === '1' && setting && !setting.locked) {
    return (
      <SidePanel title={`Edit ${name}`} onClose={stopEditing}>
        <EditModel setting={setting} onDone={stopEditing} />
      </SidePanel>
    )
  }
  return (
    <SidePanel title={name} onClose={onClose}>
      <Stack gap="md">
        <Group gap="sm">
          {setting && !setting.locked && (
            <Actions setting={setting} onEdit={() => setAddress({ edit: '1' })} onRemoved={onClose} />
          )}
          <EndCooldown row={row} />
          <Link to="/console/logs" search={{ deployment: row.id }}>
            Calls
          </Link>
        </Group>
        {setting?.locked && <Locked setting={setting} />}
        {setting?.error && (
          <Text size="sm" c="var(--state-failed)">
            Serves no calls: <SafeText text={setting.error} />
          </Text>
        )}
        <Facts
          of={[
            ['Health', <HealthPill key="health" row={row} />],
            ['Last error', deployment?.last_error && <LastError deployment={deployment} />],
            ['Upstream', <SafeText key="upstream" text={upstreamOf(row)} />],
            ['Id', <Id key="id" id={row.id} what="deployment id" />],
            ['Protocols', deployment?.protocols.join(', ')],
            ['Weight', deployment && String(deployment.weight)],
            ['Calls in flight', deployment && String(deployment.calls)],
            ['Context window', deployment && tokens(deployment.context_window)],
            ['Longest answer', deployment && tokens(deployment.max_output_tokens)],
            ['Set in', setting ? sourceWords[setting.source] : 'built in'],
            ['Created', setting?.created_at != null && <Created setting={setting} />],
          ]}
        />
        {deployment && <Prices pricing={deployment.pricing} isWildcard={name.includes('*')} />}
        {deployment && !name.includes('*') && <TestModel name={name} />}
        {setting && (
          <section>
            <Title order={3} mb={4}>
              Parameters
            </Title>
            <JsonBlock value={setting.params} what="parameters" />
          </section>
        )}
      </Stack>
    </SidePanel>
  )
}

const tokens = (value: number | null) =>
  value === null ? <span className="soft">unknown</span> : `${count(value)} tokens`

/** Where to change a model that this page cannot change. */
function Locked({ setting: { source } }: { readonly setting: ModelSetting }) {
  if (source === 'file') return <InConfigFile />
  return (
    <Text size="sm" c="dimmed">
      {source === 'environment'
        ? 'An environment variable of the service enables it. Change the variable and restart.'
        : 'It follows from the credential of its provider. Change it under Providers.'}
    </Text>
  )
}

const LastError = ({ deployment }: { readonly deployment: NonNullable<ModelRow['deployment']> }) => (
  <>
    <span className="mono">{deployment.last_error}</span> <Time at={deployment.last_error_at} absent="" />
  </>
)

const Created = ({ setting: { created_at: at, created_by: by } }: { readonly setting: ModelSetting }) => (
  <>
    <Time at={at} />
    {by !== null && (
      <>
        {' '}
        by <SafeText text={by} />
      </>
    )}
  </>
)

function Prices({ pricing, isWildcard }: { readonly pricing: ModelPricing | null; readonly isWildcard: boolean }) {
  return (
    <section>
      <Title order={3} mb={4}>
        Prices per million tokens
      </Title>
      {pricing === null ? (
        <Text size="sm" c="dimmed">
          {isWildcard
            ? 'Each model behind the name has its own price.'
            : 'Unknown. Calls under a budget are rejected until you set the prices.'}
        </Text>
      ) : (
        <Facts
          of={[
            ['Input', perMillion(pricing.input)],
            ['Output', perMillion(pricing.output)],
            ['Cache read', perMillion(pricing.cache_read)],
            ['Cache write, 5 minutes', perMillion(pricing.cache_write_5m)],
            ['Cache write, 1 hour', perMillion(pricing.cache_write_1h)],
            ...(pricing.tiers ?? []).map(
              tier =>
                [
                  `Above ${count(tier.above_input_tokens)} tokens`,
                  `${perMillion(tier.input)} in, ${perMillion(tier.output)} out`,
                ] as const,
            ),
            ['Source', priceSources[pricing.source]],
          ]}
        />
      )}
    </section>
  )
}

interface ActionsProps {
  readonly setting: ModelSetting
  readonly onEdit: () => void
  readonly onRemoved: () => void
}

function Actions({ setting, onEdit, onRemoved }: ActionsProps) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button variant="default" onClick={onEdit}>
        Edit model
      </Button>
      <Button variant="default" c="var(--state-failed)" onClick={() => setAsking(true)}>
        Remove model
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        question={`Remove this upstream of ${setting.model_name}?`}
        consequence="Calls in flight end as they began. New calls use the other upstreams of the name; without one they are rejected, and agents that name it fail."
        action="Remove model"
        run={async () => {
          await client.modelSettings.remove({ params: { model_id: setting.id } })
          await reloadModels(queries)
          onRemoved()
        }}
      />
    </>
  )
}
