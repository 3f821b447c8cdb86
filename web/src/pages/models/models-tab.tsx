import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useAddress } from '../../parts/address.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { Empty, Loading, NoMatch, ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { SidePanel, WithPanel } from '../../parts/side-panel.tsx'
import { allColumns, fewColumns } from './model-columns.tsx'
import { CreateModel } from './model-form.tsx'
import { ModelPanel } from './model-panel.tsx'
import { type ModelRow, matching, modelRows } from './model-rows.ts'
import { deploymentsQuery, settingsQuery } from './queries.ts'

/** Models by name, each with its upstreams. */
export function ModelsTab() {
  const [{ open, create }, setAddress] = useAddress<'open' | 'create' | 'edit'>()
  const settings = useQuery(settingsQuery)
  const deployments = useQuery(deploymentsQuery)
  const rows = settings.data && deployments.data && modelRows(settings.data, deployments.data)
  const opened = rows?.find(({ id }) => id === open)
  const close = () => setAddress({ open: undefined, create: undefined, edit: undefined })
  const openRow = (id: string) => setAddress({ open: id, create: undefined, edit: undefined }, { isStep: true })
  const error = settings.error ?? deployments.error
  const panel =
    create === '1' ? (
      <CreateModel onClose={close} onDone={openRow} />
    ) : opened ? (
      <ModelPanel key={opened.id} row={opened} onClose={close} />
    ) : (
      open !== undefined &&
      rows && (
        <SidePanel title="Model" onClose={close}>
          <Empty title="Not found">The model does not exist any more.</Empty>
        </SidePanel>
      )
    )
  if (!rows) {
    const retry = () => {
      void settings.refetch()
      void deployments.refetch()
    }
    return error ? <ProblemBlock error={error} what="load the models" retry={retry} /> : <Loading />
  }
  return (
    <WithPanel panel={panel}>
      {error && <ProblemLine error={error} />}
      <List rows={rows} open={open} hasPanel={Boolean(panel)} onOpen={openRow} />
    </WithPanel>
  )
}

interface ListProps {
  readonly rows: readonly ModelRow[]
  readonly open: string | undefined
  readonly hasPanel: boolean
  readonly onOpen: (id: string) => void
}

function List({ rows, open, hasPanel, onOpen }: ListProps) {
  const [{ q }, setAddress] = useAddress<'q' | 'create'>()
  const shown = matching(rows, q)
  if (rows.length === 0) {
    return (
      <Empty
        title="No models yet"
        action={
          <LinkButton to="/console/models" search={{ tab: 'providers' }}>
            Connect provider
          </LinkButton>
        }
        link={
          <Button variant="subtle" onClick={() => setAddress({ create: '1' })}>
            Add model
          </Button>
        }
      >
        Connect a provider by its key, and all of its models can be called. Or add a name of your own for one upstream.
      </Empty>
    )
  }
  if (shown.length === 0) return <NoMatch what="models" onClear={() => setAddress({ q: undefined })} />
  return (
    <DataTable
      label="Models"
      rows={shown}
      columns={hasPanel ? fewColumns : allColumns}
      keyOf={({ id }) => id}
      selected={open}
      onOpen={({ id }) => onOpen(id)}
    />
  )
}
