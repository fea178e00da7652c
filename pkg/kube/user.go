package kube

import (
	"context"
	"encoding/json"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
)

// UserName returns the name of the user that the API server sees behind the configuration. API servers before 1.28 answer
// NotFound. Source: KEP-3325.
func UserName(ctx context.Context, config *rest.Config) (string, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &authenticationv1.SchemeGroupVersion, "/apis", codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return "", err
	}
	answer, err := client.Post().Resource("selfsubjectreviews").SetHeader("Content-Type", "application/json").
		Body([]byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)).Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	var review authenticationv1.SelfSubjectReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}
