import { Button, Select } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Experiment } from '../../../../src/contract/experiments.ts'
import { client } from '../../data/client.ts'
import { useAddress } from '../../parts/address.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { plainText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { Comparison } from './comparison.tsx'
import { ExperimentResults } from './experiment-results.tsx'
import { endedQuery, evaluationsKey, experimentQuery } from './queries.ts'
import { experimentStates } from './states.ts'

/** One experiment: its totals and the result of each case, or its comparison with another one. */
export function ExperimentPage() {
  const { experimentId } = useParams({ from: '/console/evaluations/$experimentId' })
  const [{ with: base }] = useAddress<'with'>()
  // A deleted experiment stays on the screen until the list is there, and must not be loaded again.
  const [isDeleted, setDeleted] = useState(false)
  const { data: experiment, error, refetch } = useQuery({ ...experimentQuery(experimentId), enabled: !isDeleted })
  if (!experiment || isDeleted) {
    return (
      <Page title="Experiment">
        {error ? <ProblemBlock error={error} what="load the experiment" retry={() => void refetch()} /> : <Loading />}
      </Page>
    )
  }
  return (
    <Page
      title={experiment.name}
      actions={
        <MayChange>
          <Actions experiment={experiment} onDeleted={() => setDeleted(true)} />
        </MayChange>
      }
      toolbar={
        <>
          <StatePill {...experimentStates[experiment.state]} />
          {experiment.ended_at !== null && <CompareWith experiment={experiment} />}
          <Id id={experiment.id} what="experiment id" />
        </>
      }
      isScrolling={base !== undefined}
    >
      {base === undefined ? (
        <ExperimentResults experiment={experiment} />
      ) : (
        <Comparison experimentId={experiment.id} baseId={base} />
      )}
    </Page>
  )
}

function CompareWith({ experiment }: { readonly experiment: Experiment }) {
  const [{ with: base }, setAddress] = useAddress<'with' | 'case' | 'state'>()
  const { data = [], error } = useQuery(endedQuery(experiment.dataset_id))
  const others = data.filter(({ id }) => id !== experiment.id)
  return (
    <>
      <Select
        size="xs"
        w={340}
        maw="100%"
        aria-label="Compare with"
        placeholder={others.length === 0 ? 'No other experiment on this dataset has ended' : 'Compare with …'}
        data={others.map(({ id, name, created_at }) => ({
          value: id,
          label: `${plainText(name)}, ${created_at.slice(5, 16).replace('T', ' ')}`,
        }))}
        value={base ?? null}
        onChange={next => setAddress({ with: next ?? undefined, case: undefined, state: undefined }, { isStep: true })}
        disabled={others.length === 0}
        clearable
        searchable
      />
      <ProblemLine error={error} />
    </>
  )
}

interface ActionsProps {
  readonly experiment: Experiment
  readonly onDeleted: () => void
}

function Actions({ experiment, onDeleted }: ActionsProps) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [isDeleting, deleting] = useDisclosure()
  const params = { experiment_id: experiment.id }
  const cancel = useMutation({
    mutationFn: () => client.experiments.cancel({ params }),
    onSettled: () => queries.invalidateQueries({ queryKey: evaluationsKey }),
  })
  const remove = async () => {
    await client.experiments.remove({ params })
    onDeleted()
    await navigate({ to: '/console/evaluations', search: {} })
    await queries.invalidateQueries({ queryKey: [...evaluationsKey, 'list'] })
  }
  return (
    <>
      <ProblemLine error={cancel.error} />
      {experiment.ended_at === null ? (
        <Button
          variant="default"
          onClick={() => cancel.mutate()}
          loading={cancel.isPending}
          disabled={experiment.state === 'cancelling'}
        >
          Cancel experiment
        </Button>
      ) : (
        <Button variant="default" onClick={deleting.open}>
          Delete experiment
        </Button>
      )}
      <Confirm
        isOpen={isDeleting}
        onClose={deleting.close}
        question={`Delete experiment ${experiment.name}?`}
        consequence="Its results are deleted. Its sessions stay readable; those of a replay take no more prompts."
        action="Delete experiment"
        run={remove}
      />
    </>
  )
}
