// Uses the client that openapi-generator makes for Java. Prints what the other drivers print, as far as these operations go.

import java.net.URI;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.BatchRequestsApi;
import org.openapitools.client.api.BrandsApi;
import org.openapitools.client.api.ChangesApi;
import org.openapitools.client.api.LocationsApi;
import org.openapitools.client.api.OrderStatusesApi;
import org.openapitools.client.model.*;

public class Driver {
    public static void main(String[] args) throws Exception {
        ApiClient client = new ApiClient();
        URI address = URI.create(args[0]);
        client.setHost(address.getHost()).setPort(address.getPort()).setScheme(address.getScheme()).setBasePath("");
        client.setRequestInterceptor(request -> request.header("X-API-AUTH", args[1]));
        BrandsApi brands = new BrandsApi(client);
        OrderStatusesApi statuses = new OrderStatusesApi(client);
        BatchRequestsApi batches = new BatchRequestsApi(client);

        NewBrand acme = new NewBrand().name("Acme").address(new AddressPart().town("Leeds"));
        Long id = brands.createBrand(acme, null, null, null).getID();
        brands.updateBrand(id, new BrandChanges().accountNumber("A1"), null, null, null);
        Brand brand = brands.getBrand(id, null, null);
        say(brand.getName() + " " + brand.getAccountNumber() + " " + brand.getAddress().getTown());
        say(brands.listBrands(5, null, List.of("-Name"), null, null, null, null).stream().map(Brand::getName).toList());
        say(new LocationsApi(client).listLocations(null, null, null, null, null, null, null).size());

        BatchOperation create = operation("brands", BatchOperation.MethodEnum.POST);
        create.record(new BatchOperationRecord().name("By batch").accountNumber("B2"));
        BatchOperation rename = operation("orderstatuses", BatchOperation.MethodEnum.PUT).ID(1L);
        rename.record(new BatchOperationRecord().name("Renamed"));
        Batch batch = new Batch().operations(List.of(create, rename));
        BatchResults results = batches.sendBatch(batch, null, null, null, null);
        say(results.getResults().stream().map(one -> one.getStatus() + " " + one.getRecord().getName()).toList());

        Changes changes = new ChangesApi(client).listChanges(null, 1000, null, null, null);
        changes.getChanges().stream().filter(one -> results.getRun().equals(one.getRun()))
            .forEach(one -> say(one.getResource() + " " + one.getRecord().getName() + " " + one.getRecord().getAccountNumber()));
        Undone undone = batches.undoRun(new Undo().run(results.getRun()), null, null);
        say(undone.getDeleted() + " deleted, " + undone.getRestored() + " restored");

        brands.deleteBrand(id, null, null, null);
        try {
            brands.getBrand(id, null, null);
        } catch (ApiException error) {
            Problem problem = client.getObjectMapper().readValue(error.getResponseBody(), Problem.class);
            say(problem.getType());
        }
    }

    private static BatchOperation operation(String resource, BatchOperation.MethodEnum method) {
        return new BatchOperation().method(method).resource(BatchOperation.ResourceEnum.fromValue(resource));
    }

    private static void say(Object value) {
        System.out.println(value);
    }
}
