import { Button, Group, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { RuntimeHarness, RuntimeTest } from '../../../../src/contract/runtimes.ts'
import { client } from '../../data/client.ts'
import { useSubmit } from '../../data/submit.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { reloadRuntimes } from './queries.ts'

interface Props {
  readonly runtime: RuntimeHarness
  readonly onEdit: () => void
  readonly onRemoved: () => void
}

/** What can be done with a runtime: test, connect or edit, disconnect or remove. */
export function RuntimeActions({ runtime, onEdit, onRemoved }: Props) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const [result, setResult] = useState<RuntimeTest>()
  const { id, is_default: isBuiltIn, locked, masked_api_key: key } = runtime
  const test = useSubmit(async () => {
    setResult(undefined)
    setResult(await client.agentRuntimes.test({ params: { runtime_id: id } }))
    await reloadRuntimes(queries)
  })
  const mayChange = isBuiltIn ? id !== 'builtin' : !locked
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Button variant="default" onClick={() => void test.send()} loading={test.isRunning}>
          Test runtime
        </Button>
        {mayChange && (
          <Button variant="default" onClick={onEdit}>
            {isBuiltIn ? (key === null ? 'Connect runtime' : 'Replace key') : 'Edit runtime'}
          </Button>
        )}
        {mayChange && (!isBuiltIn || key !== null) && (
          <Button variant="default" c="var(--state-failed)" onClick={() => setAsking(true)}>
            {isBuiltIn ? 'Disconnect runtime' : 'Remove runtime'}
          </Button>
        )}
      </Group>
      {result && <TestResult result={result} />}
      <ProblemLine error={test.error} />
      {isBuiltIn ? (
        <Disconnect runtime={runtime} isOpen={isAsking} onClose={() => setAsking(false)} />
      ) : (
        <Remove runtime={runtime} isOpen={isAsking} onClose={() => setAsking(false)} onRemoved={onRemoved} />
      )}
    </Stack>
  )
}

function TestResult({ result: { ok, latency_ms: ms, error = '' } }: { readonly result: RuntimeTest }) {
  return (
    <div role="status">
      {ok ? (
        <StatePill state="done" word="answers" detail={`in ${ms} ms`} />
      ) : (
        <>
          <StatePill state="failed" word="test failed" />
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            <SafeText text={error} />
          </Text>
        </>
      )}
    </div>
  )
}

interface DialogProps {
  readonly runtime: RuntimeHarness
  readonly isOpen: boolean
  readonly onClose: () => void
}

function Disconnect({ runtime, isOpen, onClose }: DialogProps) {
  const queries = useQueryClient()
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      question={`Disconnect ${runtime.display_name}?`}
      consequence="The stored key is deleted. New sessions on it are rejected, and prompts of its sessions fail until it is connected again."
      action="Disconnect runtime"
      run={async () => {
        await client.agentRuntimes.disconnect({ params: { runtime_id: runtime.id } })
        await reloadRuntimes(queries)
      }}
    />
  )
}

function Remove({ runtime, isOpen, onClose, onRemoved }: DialogProps & Pick<Props, 'onRemoved'>) {
  const queries = useQueryClient()
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      question={`Remove runtime ${runtime.alias}?`}
      consequence="Its address and key are deleted. Sessions on it fail at their next prompt, and agents that name it cannot start."
      action="Remove runtime"
      name={runtime.alias}
      run={async () => {
        await client.runtimeHarnesses.remove({ params: { alias: runtime.alias } })
        await reloadRuntimes(queries)
        onRemoved()
      }}
    />
  )
}
