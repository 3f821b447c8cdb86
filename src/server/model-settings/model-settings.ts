import type { ModelSetting, ModelSettingWrite } from '../../contract/model-settings.ts'
import type { Audit } from '../audit/audit.ts'
import type { Deployment } from '../config/deployments.ts'
import type { RunSql } from '../db/once.ts'
import type { By } from '../http/caller.ts'
import { rejectNarrow } from '../http/reach.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { checkModel, type NewModel } from './check.ts'
import type { DeploymentChange, DeploymentFields, DeploymentRow, DeploymentStore } from './deployment-store.ts'
import { lockReason, originOf } from './in-force.ts'
import { listedModels } from './listing.ts'
import type { ModelsInForce } from './models-in-force.ts'
import { mergedParams, type Params, secretsOf } from './secret-params.ts'
import type { SettingsEncryption } from './stored-settings.ts'

interface Deps {
  readonly store: DeploymentStore
  readonly encryption: SettingsEncryption
  readonly inForce: ModelsInForce
  readonly audit: Audit
}

interface Page {
  /** Last id of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

interface ChangeRecord {
  readonly id: string
  readonly actor: By['actor']
  /** Names of the parameters in the request: without them the audit log would not show a changed secret. */
  readonly given?: readonly string[]
}

/** Rules for models added through the API: validation, and which models can be changed. */
export type ModelSettings = ReturnType<typeof createModelSettings>

export function createModelSettings({ store, encryption, inForce, audit }: Deps) {
  const mustFind = (id: string): ModelSetting => {
    const found = listedModels(inForce.now).find(model => model.id === id)
    if (!found) throw notFound('model', id)
    return found
  }

  const rejectLocked = ({ id, source, locked }: ModelSetting): void => {
    if (!locked) return
    const lock =
      source === 'api'
        ? 'comes from the stored credential of its provider; change it with /api/providers'
        : `${lockReason(inForce.now.config, deployment => deployment.id === id)}; change it there`
    throw new AppError('conflict', `model ${id} ${lock}`)
  }

  /** Returns the deployment of a model. Throws if it cannot be used. */
  const checked = (model: NewModel): Omit<Deployment, 'id'> => {
    const { config, credentials } = inForce.now
    const credentialOf = (provider: string): Params | undefined => {
      const state = credentials.get(provider)
      return state?.error === undefined ? state?.stored.params : undefined
    }
    const { deployment, problems } = checkModel(model, { config, credentialOf })
    if (!deployment) throw invalid(problems.join('; '))
    const { alias: name } = deployment
    const lock = lockReason(config, ({ alias }) => alias === name)
    // The weights of a group must be configured in one place (our choice).
    if (lock !== undefined)
      throw new AppError('conflict', `model_name ${name} ${lock}; add the deployment there, or choose another name`)
    return deployment
  }

  /** Returns the fields of a changed model. A retained secret must still belong to the same host. */
  const changed = (row: DeploymentRow, write: ModelSettingWrite) => {
    const before = encryption.decryptModel(row)
    const given = write.params ?? write.litellm_params ?? {}
    if (write.params && write.litellm_params)
      throw invalid('request body has both params and litellm_params; remove one')
    const shown = mergedParams(before.shown, given)
    const retained = Object.keys(secretsOf(shown) ?? {}).filter(name => !(name in given))
    if (retained.length > 0 && !before.params)
      throw new AppError('conflict', `the stored params.${retained[0]} cannot be decrypted; send it again, or null`)
    const params = mergedParams(before.params ?? before.shown, given)
    const deployment = checked({ model_name: write.model_name ?? row.model_name, params })
    const origin = originOf(deployment)
    if (retained.length > 0 && origin !== before.origin)
      throw invalid(`params.${retained[0]} was stored for ${before.origin}, not for ${origin}; send it again, or null`)
    return { params, modelName: deployment.alias, origin }
  }

  const recordChange =
    (verb: 'create' | 'update' | 'delete', { id, actor, given }: ChangeRecord) =>
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

    /** Adds a model; resolves once it is active in this process. */
    async create(write: ModelSettingWrite, by: By): Promise<ModelSetting> {
      const id = newId('dep')
      const given = write.params ?? write.litellm_params
      const params = mergedParams({}, given ?? {})
      const deployment = checked({ ...write, ...(given && { [write.params ? 'params' : 'litellm_params']: params }) })
      rejectNarrow(by)
      const model = { id, modelName: deployment.alias, params, origin: originOf(deployment) }
      const row = { id, created_by: by.actor.principal, ...encryption.modelRow(model, undefined) }
      await store.insert(row, recordChange('create', { id, actor: by.actor }))
      await inForce.refresh()
      return mustFind(id)
    },

    /** Changes a model; resolves once the change is active in this process. */
    async update(id: string, write: ModelSettingWrite, by: By): Promise<ModelSetting> {
      const found = mustFind(id)
      rejectNarrow(by)
      rejectLocked(found)
      const change = (row: DeploymentRow) => encryption.modelRow({ id, ...changed(row, write) }, row.version)
      const given = Object.keys(write.params ?? write.litellm_params ?? {})
      if (!(await store.update(id, change, recordChange('update', { id, actor: by.actor, given }))))
        throw notFound('model', id)
      await inForce.refresh()
      return mustFind(id)
    },

    async remove(id: string, by: By): Promise<void> {
      const found = mustFind(id)
      rejectNarrow(by)
      rejectLocked(found)
      if (!(await store.remove(id, recordChange('delete', { id, actor: by.actor })))) throw notFound('model', id)
      await inForce.refresh()
    },
  }
}

const publicFields = ({ model_name, params }: DeploymentFields) => ({ model_name, params })
