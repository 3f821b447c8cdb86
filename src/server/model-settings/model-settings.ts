import type { ModelSetting, ModelSettingWrite } from '../../contract/model-settings.ts'
import type { Audit } from '../audit/audit.ts'
import type { Deployment } from '../config/config.ts'
import type { RunSql } from '../db/once.ts'
import type { By } from '../http/caller.ts'
import { refuseNarrow } from '../http/reach.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { checkModel, type NewModel } from './check.ts'
import type { DeploymentChange, DeploymentFields, DeploymentRow, DeploymentStore } from './deployment-store.ts'
import { lockOf, originOf } from './in-force.ts'
import { listedModels } from './listing.ts'
import type { ModelsInForce } from './models-in-force.ts'
import { mergedParams, type Params, secretsOf } from './secret-params.ts'
import type { SettingsSeals } from './stored-settings.ts'

interface Deps {
  readonly store: DeploymentStore
  readonly seals: SettingsSeals
  readonly inForce: ModelsInForce
  readonly audit: Audit
}

interface Page {
  /** The last id of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

interface Recorded {
  readonly id: string
  readonly actor: By['actor']
  /** Names of the parameters that were sent: of a secret nothing else tells that it was changed. */
  readonly given?: readonly string[]
}

/** The rules of models that are added by the API: what one may be, and which cannot be changed here. */
export type ModelSettings = ReturnType<typeof createModelSettings>

export function createModelSettings({ store, seals, inForce, audit }: Deps) {
  const mustFind = (id: string): ModelSetting => {
    const found = listedModels(inForce.now).find(model => model.id === id)
    if (!found) throw notFound('model', id)
    return found
  }

  const refuseLocked = ({ id, source, locked }: ModelSetting): void => {
    if (!locked) return
    const lock =
      source === 'api'
        ? 'comes from the stored credential of its provider; change that with /api/providers'
        : `${lockOf(inForce.now.config, deployment => deployment.id === id)}; change it there`
    throw new AppError('conflict', `model ${id} ${lock}`)
  }

  /** Throws unless a model of these parameters could be called. */
  const checked = (model: NewModel): Omit<Deployment, 'id'> => {
    const { config, credentials } = inForce.now
    const credentialOf = (provider: string): Params | undefined => {
      const state = credentials.get(provider)
      return state?.error === undefined ? state?.stored.params : undefined
    }
    const { deployment, problems } = checkModel(model, { config, credentialOf })
    if (!deployment) throw invalid(problems.join('; '))
    const { alias: name } = deployment
    const lock = lockOf(config, ({ alias }) => alias === name)
    // A group out of two hands would be spread by weights that neither knows (our choice).
    if (lock !== undefined)
      throw new AppError('conflict', `model_name ${name} ${lock}: add the deployment there, or choose another name`)
    return deployment
  }

  /** The row of a changed model. A secret that stays must still be for the same host. */
  const changed = (row: DeploymentRow, write: ModelSettingWrite) => {
    const before = seals.openModel(row)
    const given = write.params ?? write.litellm_params ?? {}
    if (write.params && write.litellm_params) throw invalid('the body has both params and litellm_params; keep one')
    const shown = mergedParams(before.shown, given)
    const kept = Object.keys(secretsOf(shown) ?? {}).filter(name => !(name in given))
    if (kept.length > 0 && !before.params)
      throw new AppError('conflict', `the stored params.${kept[0]} cannot be opened: give it again, or null`)
    const params = mergedParams(before.params ?? before.shown, given)
    const deployment = checked({ model_name: write.model_name ?? row.model_name, params })
    const origin = originOf(deployment)
    if (kept.length > 0 && origin !== before.origin)
      throw invalid(`params.${kept[0]} was stored for ${before.origin}, not for ${origin}: give it again, or null`)
    return { params, modelName: deployment.alias, origin }
  }

  const recorded =
    (verb: 'create' | 'update' | 'delete', { id, actor, given }: Recorded) =>
    (sql: RunSql, { before, after }: DeploymentChange): Promise<void> =>
      audit.record(sql, {
        actor,
        action: `model.${verb}`,
        objectId: id,
        before: before && publicFields(before),
        after: after && { ...publicFields(after), ...(given && { given }) },
      })

  return {
    list: ({ after, limit }: Page): ModelSetting[] => {
      const all = listedModels(inForce.now)
      const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      return all.slice(from, from + limit)
    },

    get: mustFind,

    /** Adds a model; resolves when it is in force here. */
    async create(write: ModelSettingWrite, by: By): Promise<ModelSetting> {
      const id = newId('dep')
      const given = write.params ?? write.litellm_params
      const params = mergedParams({}, given ?? {})
      const deployment = checked({ ...write, ...(given && { [write.params ? 'params' : 'litellm_params']: params }) })
      refuseNarrow(by)
      const model = { id, modelName: deployment.alias, params, origin: originOf(deployment) }
      const row = { id, created_by: by.actor.principal, ...seals.modelRow(model, undefined) }
      await store.insert(row, recorded('create', { id, actor: by.actor }))
      await inForce.refresh()
      return mustFind(id)
    },

    /** Changes a model; resolves when that is in force here. */
    async update(id: string, write: ModelSettingWrite, by: By): Promise<ModelSetting> {
      const found = mustFind(id)
      refuseNarrow(by)
      refuseLocked(found)
      const change = (row: DeploymentRow) => seals.modelRow({ id, ...changed(row, write) }, row.version)
      const given = Object.keys(write.params ?? write.litellm_params ?? {})
      if (!(await store.update(id, change, recorded('update', { id, actor: by.actor, given }))))
        throw notFound('model', id)
      await inForce.refresh()
      return mustFind(id)
    },

    async remove(id: string, by: By): Promise<void> {
      const found = mustFind(id)
      refuseNarrow(by)
      refuseLocked(found)
      if (!(await store.remove(id, recorded('delete', { id, actor: by.actor })))) throw notFound('model', id)
      await inForce.refresh()
    },
  }
}

const publicFields = ({ model_name, params }: DeploymentFields) => ({ model_name, params })
