import type { Client } from '../client/client.ts'
import type { Model } from '../contract/models.ts'
import { outcomePiece } from './event-lines.ts'
import type { ExitCode } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import { exitCodeOfRun, type FollowedRun, followRun } from './follow.ts'
import { elapsedText } from './format.ts'
import { dim, type Out, plain } from './out.ts'

export interface RunArguments {
  readonly prompt: string
  /** Absent: the model of the agent, else a real model of medium price. */
  readonly model?: string | undefined
  readonly agentId?: string | undefined
  readonly timeoutMs?: number | undefined
  /** True when the service ends with this command, so continuing requires a start. */
  readonly isTemporary: boolean
  readonly stop: AbortSignal
}

const demoModel = 'demo'

/** `run`: starts a session with one prompt, prints its events, then the folder of its files and how to continue. */
export async function runOnce(client: Client, args: RunArguments, out: Out): Promise<ExitCode> {
  const startedAtMs = performance.now()
  const model = args.model ?? (args.agentId === undefined ? await chooseModel(client, out) : undefined)
  // Fail early for a misspelt model. Not for agents: their runtime may have its own models.
  if (args.model !== undefined && args.agentId === undefined) {
    await client.models.get({ params: { model_id: args.model } })
  }
  const session = await client.sessions.create({
    body: {
      prompt: args.prompt,
      ...(model !== undefined && { model }),
      ...(args.agentId !== undefined && { agent_id: args.agentId }),
    },
  })
  out.line(dim(`session ${session.id}${model === undefined ? '' : `, model ${model}`}`))
  const { timeoutMs, stop } = args
  const end = await followRun(client, { sessionId: session.id, after: 0, timeoutMs, stop }, out)
  await report(client, { args, end, sessionId: session.id, elapsedMs: performance.now() - startedAtMs }, out)
  return exitCodeOfRun(end)
}

/** Chooses a real model of medium price, else the scripted one, and prints the choice. */
async function chooseModel(client: Client, out: Out): Promise<string> {
  const { data } = await client.models.list({ query: { limit: 1000 } })
  const usable = data.filter(({ id }) => !id.endsWith('*'))
  const real = midPriced(usable.filter(({ id }) => id !== demoModel))
  if (real !== undefined) {
    out.note(dim(`Model ${real.id} (${priceText(real)}); choose another with --model.`))
    return real.id
  }
  if (usable.length === 0) throw new CommandFailed('service has no models; configure one, or set --model')
  out.note({
    text: 'No model provider is configured: using "demo", whose responses are scripted.',
    tone: 'warning',
  })
  out.note(
    dim('For a real model set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY or OLLAMA_HOST.'),
  )
  return demoModel
}

/** Number of a provider's models to compare; lists start with the newest. */
const maxCompared = 6

/**
 * Returns the model of median price among the newest of the first provider with prices; without prices the first model.
 */
function midPriced(models: readonly Model[]): Model | undefined {
  const priced = models.filter(({ pricing }) => pricing && pricing.output !== null)
  const ofFirst = priced.filter(({ owned_by }) => owned_by === priced[0]?.owned_by).slice(0, maxCompared)
  const byPrice = ofFirst.toSorted((a, b) => (a.pricing?.output ?? 0) - (b.pricing?.output ?? 0))
  return byPrice[(byPrice.length - 1) >> 1] ?? models[0]
}

const priceText = ({ pricing }: Model): string =>
  pricing && pricing.output !== null
    ? `$${pricing.input} per million input tokens, $${pricing.output} per million output tokens`
    : 'unknown price'

interface Report {
  readonly args: RunArguments
  readonly end: FollowedRun
  readonly sessionId: string
  readonly elapsedMs: number
}

async function report(client: Client, { args, end, sessionId, elapsedMs }: Report, out: Out): Promise<void> {
  const { workspace } = await client.sessions.managedGet({ params: { session_id: sessionId } })
  out.data({
    type: 'switchyard.run_end',
    session_id: sessionId,
    outcome: end.outcome,
    text: end.text,
    workspace,
    elapsed_ms: Math.round(elapsedMs),
  })
  out.line()
  out.line(outcomePiece(end.outcome), plain(`${end.text} after ${elapsedText(elapsedMs)}`))
  if (workspace !== null) out.line(dim('files:   '), plain(workspace))
  out.line(dim('continue: '), plain(`switchyard sessions send ${sessionId} "..." --follow`))
  if (args.isTemporary) out.line(dim('         (start the service first: npm start)'))
}
