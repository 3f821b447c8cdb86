import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../data/client.ts'
import { useSubmit } from '../../data/submit.ts'
import { duration } from '../../parts/format.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { StatePill } from '../../parts/state-pill.tsx'

/** Calls a model for one token, as a client would. */
export function TestModel({ name }: { readonly name: string }) {
  const [result, setResult] = useState<number>()
  const test = useSubmit(async () => {
    setResult(undefined)
    const startedMs = performance.now()
    const messages = [{ role: 'user' as const, content: 'Answer with one letter.' }]
    await client.messages.create({ body: { model: name, max_tokens: 1, messages } })
    setResult(performance.now() - startedMs)
  })
  return (
    <>
      <Group gap="sm">
        <Button variant="default" onClick={() => void test.send()} loading={test.isRunning}>
          Test model with one token
        </Button>
        {result !== undefined && <StatePill state="done" word="answered" detail={`in ${duration(result)}`} />}
      </Group>
      <ProblemLine error={test.error} />
    </>
  )
}
