import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { client } from '../../../data/client.ts'
import { Time } from '../../../parts/figures.tsx'
import { MayChange } from '../../../parts/may-change.tsx'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import type { Prompt } from '../../../session-log/view.ts'
import css from './composer.module.css'

interface Props {
  readonly sessionId: string
  readonly waiting: readonly Prompt[]
}

/** Prompts that have not started, in the order in which they run. Each can be withdrawn until it starts. */
export function WaitingPrompts({ sessionId, waiting }: Props) {
  const withdraw = useMutation({
    mutationFn: (promptId: string) =>
      client.sessions.withdraw({ params: { session_id: sessionId, prompt_id: promptId } }),
  })
  if (waiting.length === 0) return null
  return (
    <section className={css.waiting} aria-label="Waiting prompts">
      <ol className={css.queue}>
        {waiting.map((prompt, at) => (
          <li key={prompt.id} className={css.waitingRow}>
            <span className={`${css.position} numbers`}>{at + 1}</span>
            <span className={`${css.waitingText} clip`}>
              <SafeText text={titleOf(prompt)} />
            </span>
            <span className="soft">
              <Time at={prompt.queuedAt} absent="" />
            </span>
            <MayChange>
              <Button
                variant="subtle"
                color="gray"
                size="compact-xs"
                loading={withdraw.isPending && withdraw.variables === prompt.id}
                onClick={() => withdraw.mutate(prompt.id)}
              >
                Withdraw prompt
              </Button>
            </MayChange>
          </li>
        ))}
      </ol>
      <ProblemLine error={withdraw.error} />
    </section>
  )
}

function titleOf({ kind, content }: Prompt): string {
  if (kind === 'compact') return 'Compact the conversation'
  const text = content.map(part => (part.type === 'text' ? part.text : `[${String(part['name'] ?? 'file')}]`)).join(' ')
  return text.replaceAll(/\s+/g, ' ').slice(0, 300)
}
