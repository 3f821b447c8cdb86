import { parseAllDocuments } from 'yaml'
import { type Json, recordOf } from '../../../src/server/platform/json.ts'
import { modelProblem, unknownField } from './validation.ts'

/** Modules of the kinds that the manifests have. */
const models: Readonly<Record<string, string>> = {
  ConfigMap: 'v1/ConfigMap',
  Deployment: 'apps/v1/Deployment',
  HorizontalPodAutoscaler: 'autoscaling/v2/HorizontalPodAutoscaler',
  NetworkPolicy: 'networking.k8s.io/v1/NetworkPolicy',
  PersistentVolumeClaim: 'v1/PersistentVolumeClaim',
  PodDisruptionBudget: 'policy/v1/PodDisruptionBudget',
  Role: 'rbac.authorization.k8s.io/v1/Role',
  RoleBinding: 'rbac.authorization.k8s.io/v1/RoleBinding',
  Service: 'v1/Service',
  ServiceAccount: 'v1/ServiceAccount',
}

/** Returns the objects of a YAML text with several documents. Throws for invalid YAML. */
export function objectsIn(text: string): Json[] {
  return parseAllDocuments(text).map(document => {
    const [error] = [...document.errors, ...document.warnings]
    if (error) throw error
    return recordOf(document.toJS())
  })
}

/** Returns what the API server would reject about an object; undefined for a valid one. */
export async function problemOfManifest(object: Json): Promise<string | undefined> {
  const kind = String(object['kind'])
  const model = models[kind]
  if (model === undefined) return `kind ${kind} has no model in the test`
  if (!model.startsWith(String(object['apiVersion']))) return `${kind} is not in ${String(object['apiVersion'])}`
  const module = (await import(`kubernetes-models/${model}`)) as Record<string, new (data: Json) => Validated>
  const Model = module[kind]
  if (Model === undefined) return `${model} does not export ${kind}`
  return modelProblem(() => new Model(object).validate()) ?? unknownField(object, model, kind)
}

interface Validated {
  validate(): void
}
