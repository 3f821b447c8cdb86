import { Button, Group, Text, Title } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { AgentStep } from './agent-step.tsx'
import { KeyStep } from './key-step.tsx'
import { ModelStep } from './model-step.tsx'
import css from './overview.module.css'
import { type Progress, type StepName, stepNames } from './progress.ts'
import { SessionStep } from './session-step.tsx'
import { WebhookStep } from './webhook-step.tsx'

const titles: Readonly<Record<StepName, string>> = {
  model: 'Choose a model',
  agent: 'Create an agent',
  session: 'Run it',
  key: 'Connect your tools',
  webhook: 'Start it from another program',
}

/** The steps from an empty service to a running agent. Each can be skipped. */
export function Checklist({ progress }: { readonly progress: Progress }) {
  const [model, setModel] = useState<string>()
  const [chosen, setChosen] = useState<StepName>()
  const next = stepNames.find(step => !progress.done[step])
  const open = chosen ?? next
  const moveOn = () => setChosen(undefined)
  const bodies: Readonly<Record<StepName, ReactNode>> = {
    model: (
      <ModelStep
        onDone={name => {
          setModel(name)
          progress.skip('model')
          moveOn()
        }}
      />
    ),
    agent: <AgentStep model={model} onDone={moveOn} />,
    session: <SessionStep agentId={progress.agentId} />,
    key: <KeyStep />,
    webhook: <WebhookStep agentId={progress.agentId} />,
  }
  return (
    <ol className={css.steps} style={{ listStyle: 'none', padding: 0, margin: 0 }}>
      {stepNames.map((step, at) => (
        <li key={step} className={css.step} data-open={step === open || undefined}>
          <span className={css.number}>{progress.done[step] ? <IconCheck size={14} aria-label="done" /> : at + 1}</span>
          <div>
            <Group justify="space-between">
              <Title order={2}>{titles[step]}</Title>
              {step !== open && (
                <Button variant="subtle" size="compact-xs" onClick={() => setChosen(step)}>
                  Open step
                </Button>
              )}
              {step === open && !progress.done[step] && (
                <Button
                  variant="subtle"
                  size="compact-xs"
                  onClick={() => {
                    progress.skip(step)
                    moveOn()
                  }}
                >
                  Skip step
                </Button>
              )}
            </Group>
            {step === open ? bodies[step] : <Text size="sm" c="dimmed" />}
          </div>
        </li>
      ))}
    </ol>
  )
}
