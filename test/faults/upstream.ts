import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Bench } from './fault-case.ts'

/** One model call as the upstream saw it, or its end: of which prompt, and the how-manieth turn of it. */
export interface UpstreamCall {
  readonly at: number
  readonly what: 'call' | 'closed'
  readonly key: string
  readonly call: number
  /** What the answer states to have used. */
  readonly outputTokens: number
}

/** A model provider in its own process that no fault touches. */
export interface Upstream {
  readonly url: string
  readonly port: number
  /** Calls in their order; `closed` are those whose answer is out, or whose caller has left. */
  record(): UpstreamCall[]
}

/** Starts it; it ends with the case. */
export async function startUpstream(bench: Bench): Promise<Upstream> {
  const record = join(bench.folder, 'upstream.jsonl')
  const program = join(import.meta.dirname, 'upstream-main.ts')
  const child = spawn(process.execPath, [program, record], { stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  bench.defer(async () => {
    // Answers may still be waiting for their time to come.
    child.kill('SIGKILL')
    await gone
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { port } = JSON.parse(line) as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    record: () =>
      existsSync(record)
        ? readFileSync(record, 'utf8')
            .split('\n')
            .filter(text => text !== '')
            .map(text => JSON.parse(text) as UpstreamCall)
        : [],
  }
}

/** The text of a prompt whose answers are these; `key` names it in every record. */
export const scriptedText = (key: string, answers: readonly Answer[]): string => `p:${key} ${JSON.stringify(answers)}`

/** A prompt that runs one command and then sums up; the command leaves one line in `ran.txt` each time it runs. */
export function toolPrompt(key: string, pace: Pick<Answer, 'delayMs' | 'chunkDelayMs'> = {}): string {
  const command = `echo ${key} >> ran.txt`
  return scriptedText(key, [
    { ...pace, text: `I run it for ${key}.`, tool_calls: [{ name: 'bash', input: { command } }] },
    { ...pace, text: `done ${key}` },
  ])
}
