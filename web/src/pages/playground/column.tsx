import { ActionIcon, Button, Menu, Select, Tooltip } from '@mantine/core'
import { IconDots, IconPlayerStop, IconX } from '@tabler/icons-react'
import { Elapsed } from '../../parts/figures.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import type { StateName } from '../../theme.ts'
import { AnswerView } from './answer-view.tsx'
import { CallFacts } from './call-facts.tsx'
import css from './playground.module.css'
import { RunProblem } from './run-problem.tsx'
import type { Run } from './use-runs.ts'
import { contentOf } from './wire/answer.ts'
import { type Format, formatNames } from './wire/form.ts'

interface Props {
  readonly number: number
  readonly model: string
  readonly format: Format
  readonly names: readonly string[]
  readonly run: Run | undefined
  readonly onModel: (model: string) => void
  readonly onRemove: (() => void) | undefined
  readonly onStop: () => void
  readonly onUse: (run: Run) => void
  readonly onCopy: () => void
  readonly onSave: () => void
  /** Why the form makes no request now. */
  readonly problem: string | undefined
}

/** One model with its last answer. */
export function Column(props: Props) {
  const { number, model, names, run, onModel, onRemove, onCopy, onSave, problem } = props
  return (
    <section className={css.column} aria-label={`Model ${number}: ${model}`}>
      <header className={css.columnHead}>
        <Select
          className={css.grow ?? ''}
          aria-label={`Model of column ${number}`}
          placeholder="Choose a model"
          data={names.includes(model) || model === '' ? [...names] : [model, ...names]}
          value={model === '' ? null : model}
          onChange={value => value !== null && onModel(value)}
          nothingFoundMessage="No model has this name"
          searchable
        />
        <Menu position="bottom-end">
          <Menu.Target>
            <Tooltip label="Use the request">
              <ActionIcon aria-label={`Actions of column ${number}`}>
                <IconDots size={16} />
              </ActionIcon>
            </Tooltip>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={onCopy} disabled={problem !== undefined || model === ''}>
              Copy as code
            </Menu.Item>
            <Menu.Item onClick={onSave} disabled={model === ''}>
              Save as agent
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
        {onRemove && (
          <Tooltip label="Remove column">
            <ActionIcon aria-label={`Remove column ${number}`} onClick={onRemove}>
              <IconX size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </header>
      {run ? (
        <RunView {...props} run={run} />
      ) : (
        <p className={css.hint}>The answer of {model === '' ? 'the model' : <SafeText text={model} />} appears here.</p>
      )}
    </section>
  )
}

function RunView({ run, model, format, onStop, onUse }: Props & { readonly run: Run }) {
  const isRunning = run.state === 'running'
  const canUse = !isRunning && contentOf(run.answer).length > 0
  return (
    <>
      <div className={css.status}>
        <RunState run={run} />
        {run.model !== model && (
          <span className={`${css.from} soft clip`}>
            of <SafeText text={run.model} />
          </span>
        )}
        {run.format !== format && <span className="soft">in {formatNames[run.format]}</span>}
        <span className={css.grow} />
        {isRunning && (
          <Button
            variant="default"
            size="compact-xs"
            leftSection={<IconPlayerStop size={13} aria-hidden />}
            onClick={onStop}
          >
            Stop answer
          </Button>
        )}
        {canUse && (
          <Button variant="default" size="compact-xs" onClick={() => onUse(run)}>
            Use answer as turn
          </Button>
        )}
      </div>
      <div className={css.columnBody}>
        <AnswerView answer={run.answer} isRunning={isRunning} />
        {run.error !== undefined && <RunProblem run={run} />}
        {run.state === 'done' && run.answer.blocks.length === 0 && (
          <p className={css.hint}>The answer has no content.</p>
        )}
        {!isRunning && <CallFacts run={run} />}
      </div>
    </>
  )
}

const words: Readonly<Record<Run['state'], readonly [StateName, string]>> = {
  running: ['running', 'answering'],
  done: ['done', 'answered'],
  stopped: ['stopped', 'stopped'],
  failed: ['failed', 'failed'],
}

function RunState({ run }: { readonly run: Run }) {
  const [state, word] = words[run.state]
  const isWaiting = run.state === 'running' && run.answer.blocks.length === 0
  return (
    <span className={css.state} role="status">
      <StatePill state={state} word={isWaiting ? 'waiting for the first token' : word} />
      {run.state === 'running' && (
        <span aria-hidden>
          <Elapsed since={run.startedAt} />
        </span>
      )}
    </span>
  )
}
